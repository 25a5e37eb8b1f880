// The kernels, each compiled from one source (kernels.inc) for each instruction set, and what they need from their surroundings.
// Arrays are float32, in row-major order.
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

// Memory of the calling thread, aligned to a page and kept for its next call; slots (below kSlots) do not overlap.
constexpr int kSlots = 7;
float* scratch(int slot, size_t floats);

// Memory for one call of a kernel, aligned to a page, from a store that all threads share: XLA runs a program in another of its threads each
// time, and what each of them kept of the largest weight was 25 MiB of ResNet-18's memory.
class Lent {
 public:
  explicit Lent(size_t floats);
  ~Lent();
  Lent(const Lent&) = delete;
  float* data;

 private:
  size_t floats_;
};

// out (m, n) = the product of a (m, k) and b (k, n), plus `row` (n) where it is not null. Turned: a is (k, m), b is (n, k); not both.
struct ProductArrays {
  int64_t m, n, k;
  bool a_turned, b_turned;
  const float *a, *b, *row;
  float* out;
};

// What the loops of a recurrent layer read and write. Its cell has 4 gates (LSTM), 3 (GRU) or 1.
struct RecurrentArrays {
  int64_t steps, batch, units;
  bool reversed;
  const float *xw, *h0, *c0, *w, *b;  // (steps, batch, gates * units), (batch, units) twice, (gates * units, units); GRU: (3 units)
  const int32_t* index;               // (steps, batch), or null: xw is a table (rows, gates * units), and this its rows
  const float* valid;                 // (steps, batch), or null: where it is 0 the states stay as they were
  float *hs, *cs, *gates;             // (steps, batch, units) twice, (steps, batch, 4 units); without gates, cs is the last one only
  const float *g_hs, *g_c;            // the gradients of hs and of the last c
  float *g_xw, *g_uw, *g_h0, *g_c0;   // g_uw: of the product with w, for a GRU
};

struct RecurrentKernels {
  void (*forward)(const RecurrentArrays&, const Parallel&);
  void (*back)(const RecurrentArrays&, const Parallel&);
};

// Rows of a table (size, columns) that an index has, all from 0 to below size: out (count, columns) = those rows of `from`, or
// out (size, columns) = for each of them the sum of the rows of `from` (count, columns) with that index, which may be -1 for a row left out.
struct PickArrays {
  int64_t count, size, columns;
  const int32_t* index;
  const float* from;
  float* out;
};

// Attention: q (examples, rows, apart, width), k (examples, columns, apart, width), v (examples, columns, apart, out_width), of heads =
// examples * apart; causal: a row sees no later column.
struct AttentionArrays {
  int64_t heads, apart, rows, columns, width, out_width;
  bool causal;
  const float *q, *k, *v, *g;  // g: the gradient of the result, which is like q
  const float* mask;           // (masks, rows or 1, columns), added to what the softmax is of, or null; a row of -inf alone gives 0
  int64_t masks, mask_rows, inner;  // the mask of a head is number head / inner % masks
  float *out, *g_q, *g_k, *g_v;
};

// Layer normalisation of x (rows, columns), or group normalisation: a row is then `columns / inner` channels, and `groups` rows an example.
struct LayerNormArrays {
  int64_t rows, columns, groups, inner;
  float eps;
  const float *x, *weight, *bias, *g;  // g: the gradient of the result
  float *out, *g_x, *g_weight, *g_bias;
};

// The results along an axis: each is the sum of the elements index[ends[i] .. ends[i + 1]], times their weights. No results: the axis stays.
struct Taps {
  int64_t results;
  const int64_t *ends, *index;
  const float* weight;
};

// in (planes, rows, columns) with sums of its rows (y) and of its columns (x) in their places.
struct ResampleArrays {
  int64_t planes, rows, columns;
  Taps y, x;
  const float* in;
  float* out;
};

// Samples of in (images, channels, rows, columns) at places (images, places), counted in elements, between which they are bilinear, and 0
// outside: out, or from its gradient g (images, channels, places) those of the others.
struct SampleArrays {
  int64_t images, channels, rows, columns, places;
  const float *in, *y, *x, *g;
  float *out, *g_in, *g_y, *g_x;
};

// A step of a small program (host/native_code.py): operands lie at bases[base] + offset; strides are counted in numbers.
struct ProgramOperand {
  int64_t base, offset, strides[4];
};

struct ProgramStep {
  int64_t code;
  int64_t chain;  // how many steps from here on go over the same numbers, block by block
  int64_t sizes[4], out, out_offset;  // results have no gaps
  ProgramOperand in[3];
};

struct Kernels {
  // out = the convolution of x (images, y, x, channels) with w, which has channels / groups inputs.
  void (*forward)(const Convolution&, const float* x, const float* w, float* out, const Parallel&);
  // w = its gradient, from x and the gradient g of the result; x is not spread.
  void (*of_kernel)(const Convolution&, const float* x, const float* g, float* w, const Parallel&);
  void (*product)(const ProductArrays&, const Parallel&);
  RecurrentKernels lstm, gru, rnn_tanh, rnn_relu;
  void (*pick)(const PickArrays&, const Parallel&);
  void (*add_picked)(const PickArrays&, const Parallel&);
  void (*attention)(const AttentionArrays&, const Parallel&);
  void (*attention_back)(const AttentionArrays&, const Parallel&);
  void (*layer_norm)(const LayerNormArrays&, const Parallel&);
  void (*layer_norm_back)(const LayerNormArrays&, const Parallel&);
  void (*group_norm)(const LayerNormArrays&, const Parallel&);
  void (*group_norm_back)(const LayerNormArrays&, const Parallel&);
  // out (columns) = the sum of the rows of x.
  void (*sums)(int64_t rows, int64_t columns, const float* x, float* out, const Parallel&);
  // out = gelu(x), or g times its derivative where g is not null.
  void (*gelu)(int64_t count, const float* x, const float* g, float* out, const Parallel&);
  // out = the sine or cosine of x.
  void (*waves)(int64_t count, const float* x, float* out, bool cosine, const Parallel&);
  // bases[blocks], the last, is memory for blocks of results that only their chain reads.
  void (*steps)(const ProgramStep*, int64_t count, float* const* bases, int64_t blocks, const Parallel&);
  void (*resample)(const ResampleArrays&, const Parallel&);
  void (*samples)(const SampleArrays&, const Parallel&);
  void (*samples_back)(const SampleArrays&, const Parallel&);
};

// On matrix units (amx.cpp), where the processor has them: false where the numbers do not suit them, and `out` is undefined.
bool matrix_units_present();
bool matrix_units();  // whether to use them
bool product_on_matrix_units(const ProductArrays&, const Parallel&);

// For products of what is gathered, or with a matrix that is used again and again. Pieces are in memory aligned to 64 bytes; a panel, 32
// columns of the right matrix or rows of the left one, takes `held_floats` floats. False: the numbers do not suit the matrix units.
int64_t held_floats(int64_t steps);
// A panel: column i and step k are at w[i * stride + k] (along) or w[k * stride + i].
bool hold(const float* w, int64_t stride, bool along, int64_t count, int64_t steps, float* held);
// The same for a matrix with its step k at places[k].
bool hold_at(const float* w, const int64_t* places, int64_t count, int64_t steps, float* held);
// Panels of the left matrix, whose lines lie at places[i]: its rows (along), or for each step of the sum the numbers of all rows;
// `apart` floats from one panel to the next.
bool cut_at(const float* data, const int64_t* places, bool along, int64_t count, int64_t steps, float* pieces, int64_t apart);
// out (32, 32; rows `stride` apart) = or += a left panel times a right one.
void times_held(const float* pieces, const float* held, int64_t steps, float* out, int64_t stride, bool add);
// Up to 16 rows, in as many floats as a panel.
bool cut_rows(const float* rows, int64_t stride, int64_t count, int64_t steps, float* pieces);
// Up to four products of rows with a panel: out[i] (16, 32).
void rows_times_held(const float* const* pieces, const float* const* held, int64_t steps, float* const* out, int64_t count);

extern const Kernels avx512_kernels, avx2_kernels;

}  // namespace jaxtorch
