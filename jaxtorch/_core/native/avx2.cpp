#include "kernels.h"

#include <immintrin.h>
#include <sched.h>

#include <utility>

#pragma GCC target("avx2,fma")
#define LANES 8
#define ROWS 6
#define SET avx2_kernels
#include "kernels.inc"
