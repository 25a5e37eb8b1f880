#include "kernels.h"

#include <immintrin.h>
#include <sched.h>

#include <utility>

#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#define LANES 16
#define ROWS 12
#define SET avx512_kernels
#include "kernels.inc"
