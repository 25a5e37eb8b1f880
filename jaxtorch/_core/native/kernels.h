// Convolutions of float32 arrays, channels last, as products of matrices that are never written out.
//
// The images are read where they lie, or from a padded copy of a few of them that stays in the second-level cache; a tile of the
// result is held in registers over the whole sum. One source (kernels.inc) is compiled for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jaxtorch {

// One spatial dimension: sizes of input, kernel and result, and how the kernel moves.
struct Axis {
  int64_t size, kernel, out, stride, pad, dilation, spread;
};

// How far apart the kernel's elements lie along each of its dimensions, and where the first is.
struct Layout {
  int64_t y, x, in, out, offset;
};

struct Convolution {
  int64_t images, channels, outs, groups;
  Axis y, x;
  Layout w;
};

// Runs task(context, i) for each i below count, in any order and on any thread, and returns when all have ended.
struct Parallel {
  void (*run)(void* pool, int64_t count, void (*task)(void* context, int64_t i), void* context);
  void* pool;
  int64_t threads;
};

// Memory of the calling thread, kept for its next call; slots do not overlap.
float* scratch(int slot, size_t floats);

struct Kernels {
  // out = the convolution of x (images, y, x, channels) with w, which has channels / groups inputs.
  void (*forward)(const Convolution&, const float* x, const float* w, float* out, const Parallel&);
  // w = its gradient, from x and the gradient g of the result; x is not spread.
  void (*of_kernel)(const Convolution&, const float* x, const float* g, float* w, const Parallel&);
};

extern const Kernels avx512_kernels, avx2_kernels;

}  // namespace jaxtorch
