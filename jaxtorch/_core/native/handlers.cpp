// What XLA calls: typed FFI handlers around the kernels, the division of work over XLA's own threads (helpers.inc), and memory for each thread.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>

#include "kernels.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace jaxtorch {

namespace {

constexpr size_t kPage = 4096;

struct Memory {
  float* data[kSlots] = {};
  size_t floats[kSlots] = {};
  ~Memory() {
    for (float* p : data) std::free(p);
  }
};

// What calls of kernels have given back (Lent). Never destroyed: XLA's threads end after this library's own objects. Nobody waits for it,
// since in a forked process the lock may be held for ever: who does not get it does without.
constexpr int kLendable = 16;
constexpr size_t kLendableFloats = 6 << 20;  // that are kept
struct Store {
  std::mutex mutex;
  int count = 0;
  size_t held = 0;  // floats
  float* data[kLendable];
  size_t floats[kLendable];
};
Store& store = *new Store;

#include "helpers.inc"

// JAXTORCH_NATIVE=avx2 or avx512, for tests: no more than these instructions, and no matrix units.
bool limited_to(const char* set) {
  const char* wanted = std::getenv("JAXTORCH_NATIVE");
  return wanted && !std::strcmp(wanted, set);
}

const Kernels* kernels() {
  static const Kernels* found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                                        __builtin_cpu_supports("avx512dq") && !limited_to("avx2")
                                    ? &avx512_kernels
                                : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2_kernels
                                                                                                   : nullptr;
  return found;
}

typedef ffi::Buffer<ffi::F32> Any;
typedef ffi::Buffer<ffi::F32, 1> Row;
typedef ffi::Buffer<ffi::F32, 2> Rows;
typedef ffi::Buffer<ffi::F32, 3> Sequence;
typedef ffi::Buffer<ffi::F32, 4> Array;
typedef ffi::Buffer<ffi::S64, 2> LongRows;
typedef ffi::Buffer<ffi::S32, 1> Integers;
typedef ffi::Buffer<ffi::S32, 2> IntegerRows;
typedef ffi::ResultBuffer<ffi::F32> AnyOut;
typedef ffi::ResultBuffer<ffi::F32, 1> RowOut;
typedef ffi::ResultBuffer<ffi::F32, 2> RowsOut;
typedef ffi::ResultBuffer<ffi::F32, 3> SequenceOut;
typedef ffi::ResultBuffer<ffi::F32, 4> ArrayOut;
typedef ffi::ResultBuffer<ffi::S64, 2> LongRowsOut;
typedef ffi::Span<const int64_t> Numbers;

// `window`, for y and then x: size of the kernel, stride, padding before, dilation, spread. `layout`: as in Layout.
Convolution described(const Array& x, const Array& out, int64_t groups, Numbers window, Numbers layout) {
  const auto sizes = x.dimensions(), results = out.dimensions();
  const auto axis = [&](int i) {
    const int64_t* of = window.begin() + 5 * i;
    return Axis{sizes[1 + i], of[0], results[1 + i], of[1], of[2], of[3], of[4]};
  };
  return {sizes[0], sizes[3], results[3], groups, axis(0), axis(1), {layout[0], layout[1], layout[2], layout[3], layout[4]}};
}

ffi::Error convolve(ffi::ThreadPool pool, Array x, Any w, ArrayOut out, int64_t groups,
                    Numbers window, Numbers layout) {
  const Parallel parallel{&run_tasks, &pool, pool.num_threads()};
  const auto c = described(x, *out, groups, window, layout);
  kernels()->forward(c, x.typed_data(), w.typed_data(), out->typed_data(), parallel);
  return ffi::Error::Success();
}

ffi::Error convolve_of_kernel(ffi::ThreadPool pool, Array x, Array g, AnyOut w, int64_t groups, Numbers window,
                              Numbers layout) {
  const Parallel parallel{&run_tasks, &pool, pool.num_threads()};
  const auto c = described(x, g, groups, window, layout);
  kernels()->of_kernel(c, x.typed_data(), g.typed_data(), w->typed_data(), parallel);
  return ffi::Error::Success();
}


ffi::Error multiply(ffi::ThreadPool& pool, const Rows& a, const Rows& b, const float* row, RowsOut& out, bool a_turned, bool b_turned) {
  const Parallel parallel{&run_tasks, &pool, pool.num_threads()};
  const auto sizes = out->dimensions();
  const ProductArrays of{sizes[0], sizes[1], a.dimensions()[a_turned ? 0 : 1], a_turned, b_turned, a.typed_data(), b.typed_data(), row, out->typed_data()};
  if (!matrix_units() || !product_on_matrix_units(of, parallel)) kernels()->product(of, parallel);
  return ffi::Error::Success();
}

ffi::Error product(ffi::ThreadPool pool, Rows a, Rows b, RowsOut out, bool a_turned, bool b_turned) {
  return multiply(pool, a, b, nullptr, out, a_turned, b_turned);
}

ffi::Error linear(ffi::ThreadPool pool, Rows x, Rows w, Row bias, RowsOut out) {
  return multiply(pool, x, w, bias.typed_data(), out, false, true);
}

void run_alone(void*, int64_t count, void (*task)(void*, int64_t), void* context) {
  for (int64_t i = 0; i < count; ++i) task(context, i);
}

struct Batch {
  static constexpr int64_t kUnitSide = 64;  // of a result: where it is smaller, cutting into pieces takes longer than it saves
  ProductArrays first;  // the others follow it in memory

  void item(int64_t i, const Parallel& parallel) const {
    ProductArrays of = first;
    of.a += i * of.m * of.k, of.b += i * of.k * of.n, of.out += i * of.m * of.n;
    const bool suits_units = of.m >= kUnitSide && of.n >= kUnitSide && matrix_units();
    if (!suits_units || !product_on_matrix_units(of, parallel)) kernels()->product(of, parallel);
  }
};

// Each item on one thread where there are enough of them.
ffi::Error products(ffi::ThreadPool pool, Sequence a, Sequence b, SequenceOut out, bool a_turned, bool b_turned) {
  const Parallel parallel{&run_tasks, &pool, pool.num_threads()};
  const auto sizes = out->dimensions();
  Batch batch{{sizes[1], sizes[2], a.dimensions()[a_turned ? 1 : 2], a_turned, b_turned, a.typed_data(), b.typed_data(), nullptr, out->typed_data()}};
  if (sizes[0] < 2 * parallel.threads) {
    for (int64_t i = 0; i < sizes[0]; ++i) batch.item(i, parallel);
    return ffi::Error::Success();
  }
  run_tasks(&pool, sizes[0], [](void* self, int64_t i) { ((const Batch*)self)->item(i, {&run_alone, nullptr, 1}); }, &batch);
  return ffi::Error::Success();
}

#include "orders.inc"

// An argument that may be left out, the first of these.
const float* first_of(const ffi::RemainingArgs& rest) { return rest.size() ? rest.get<Any>(0)->typed_data() : nullptr; }

// `like`: (steps, batch, ...). `picked`: it is a table (1, rows, ...) instead, and the last of `rest` has the rows' numbers (steps, batch).
RecurrentArrays recurrent_arrays(const Sequence& like, const Rows& w, const ffi::RemainingArgs& rest, bool reversed, bool picked = false) {
  RecurrentArrays of{};
  of.steps = like.dimensions()[0], of.batch = like.dimensions()[1], of.units = w.dimensions()[1], of.reversed = reversed;
  of.w = w.typed_data();
  if (!picked || rest.size() > 1) of.valid = first_of(rest);
  if (picked) {
    const IntegerRows index = *rest.get<IntegerRows>(rest.size() - 1);
    of.index = index.typed_data(), of.steps = index.dimensions()[0], of.batch = index.dimensions()[1];
  }
  return of;
}

ffi::Error run_forward(ffi::ThreadPool& pool, const RecurrentKernels& loops, RecurrentArrays& of, const Sequence& xw, const Rows& h0, SequenceOut& hs) {
  of.xw = xw.typed_data(), of.h0 = h0.typed_data(), of.hs = hs->typed_data();
  loops.forward(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error run_back(ffi::ThreadPool& pool, const RecurrentKernels& loops, RecurrentArrays& of, const Sequence& g_hs, SequenceOut& g_xw, RowsOut& g_h0) {
  of.g_hs = g_hs.typed_data(), of.g_xw = g_xw->typed_data(), of.g_h0 = g_h0->typed_data();
  loops.back(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error lstm(ffi::ThreadPool pool, Sequence xw, Rows h0, Rows c0, Rows w, ffi::RemainingArgs rest, SequenceOut hs, SequenceOut cs, SequenceOut gates,
                bool reversed, bool picked) {
  RecurrentArrays of = recurrent_arrays(xw, w, rest, reversed, picked);
  of.c0 = c0.typed_data(), of.cs = cs->typed_data(), of.gates = gates->typed_data();
  return run_forward(pool, kernels()->lstm, of, xw, h0, hs);
}

ffi::Error lstm_states(ffi::ThreadPool pool, Sequence xw, Rows h0, Rows c0, Rows w, ffi::RemainingArgs rest, SequenceOut hs, RowsOut c, bool reversed, bool picked) {
  RecurrentArrays of = recurrent_arrays(xw, w, rest, reversed, picked);
  of.c0 = c0.typed_data(), of.cs = c->typed_data();
  return run_forward(pool, kernels()->lstm, of, xw, h0, hs);
}

ffi::Error lstm_back(ffi::ThreadPool pool, Sequence g_hs, Rows g_c, Sequence gates, Sequence cs, Rows c0, Rows w, ffi::RemainingArgs rest,
                     SequenceOut g_xw, RowsOut g_h0, RowsOut g_c0, bool reversed) {
  RecurrentArrays of = recurrent_arrays(gates, w, rest, reversed);
  of.gates = gates.typed_data(), of.cs = cs.typed_data(), of.c0 = c0.typed_data();
  of.g_c = g_c.typed_data(), of.g_c0 = g_c0->typed_data();
  return run_back(pool, kernels()->lstm, of, g_hs, g_xw, g_h0);
}

ffi::Error gru(ffi::ThreadPool pool, Sequence xw, Rows h0, Rows w, Row b, ffi::RemainingArgs rest, SequenceOut hs, SequenceOut gates, bool reversed, bool picked) {
  RecurrentArrays of = recurrent_arrays(xw, w, rest, reversed, picked);
  of.b = b.typed_data(), of.gates = gates->typed_data();
  return run_forward(pool, kernels()->gru, of, xw, h0, hs);
}

ffi::Error gru_states(ffi::ThreadPool pool, Sequence xw, Rows h0, Rows w, Row b, ffi::RemainingArgs rest, SequenceOut hs, bool reversed, bool picked) {
  RecurrentArrays of = recurrent_arrays(xw, w, rest, reversed, picked);
  of.b = b.typed_data();
  return run_forward(pool, kernels()->gru, of, xw, h0, hs);
}

ffi::Error gru_back(ffi::ThreadPool pool, Sequence g_hs, Sequence gates, Sequence hs, Rows h0, Rows w, ffi::RemainingArgs rest, SequenceOut g_xw,
                    SequenceOut g_uw, RowsOut g_h0, bool reversed) {
  RecurrentArrays of = recurrent_arrays(gates, w, rest, reversed);
  of.gates = gates.typed_data(), of.hs = hs.typed_data(), of.h0 = h0.typed_data(), of.g_uw = g_uw->typed_data();
  return run_back(pool, kernels()->gru, of, g_hs, g_xw, g_h0);
}

PickArrays pick_arrays(const Rows& from, const Integers& index, RowsOut& out) {
  return {(int64_t)index.element_count(), 0, from.dimensions()[1], index.typed_data(), from.typed_data(), out->typed_data()};
}

ffi::Error pick(ffi::ThreadPool pool, Rows table, Integers index, RowsOut out) {
  kernels()->pick(pick_arrays(table, index, out), {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error add_picked(ffi::ThreadPool pool, Rows g, Integers index, RowsOut out) {
  PickArrays of = pick_arrays(g, index, out);
  of.size = out->dimensions()[0];
  kernels()->add_picked(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

const RecurrentKernels& plain_loops(bool relu) { return relu ? kernels()->rnn_relu : kernels()->rnn_tanh; }

ffi::Error rnn(ffi::ThreadPool pool, Sequence xw, Rows h0, Rows w, ffi::RemainingArgs rest, SequenceOut hs, bool relu, bool reversed, bool picked) {
  RecurrentArrays of = recurrent_arrays(xw, w, rest, reversed, picked);
  return run_forward(pool, plain_loops(relu), of, xw, h0, hs);
}

ffi::Error rnn_back(ffi::ThreadPool pool, Sequence g_hs, Sequence hs, Rows w, ffi::RemainingArgs rest, SequenceOut g_xw, RowsOut g_h0, bool relu,
                    bool reversed) {
  RecurrentArrays of = recurrent_arrays(hs, w, rest, reversed);
  of.hs = hs.typed_data();
  return run_back(pool, plain_loops(relu), of, g_hs, g_xw, g_h0);
}

// `q` and the like: (examples, rows, heads of each, width).
AttentionArrays attention_arrays(const Array& q, const Array& k, const Array& v, const ffi::RemainingArgs& rest, bool causal, int64_t inner) {
  AttentionArrays of{};
  of.apart = q.dimensions()[2], of.heads = q.dimensions()[0] * of.apart, of.rows = q.dimensions()[1], of.columns = k.dimensions()[1];
  of.width = q.dimensions()[3], of.out_width = v.dimensions()[3], of.causal = causal;
  of.q = q.typed_data(), of.k = k.typed_data(), of.v = v.typed_data();
  if (rest.size()) {
    const Sequence mask = *rest.get<Sequence>(0);
    of.mask = mask.typed_data(), of.masks = mask.dimensions()[0], of.mask_rows = mask.dimensions()[1], of.inner = inner;
  }
  return of;
}

ffi::Error attention(ffi::ThreadPool pool, Array q, Array k, Array v, ffi::RemainingArgs rest, ArrayOut out, bool causal, int64_t inner) {
  AttentionArrays of = attention_arrays(q, k, v, rest, causal, inner);
  of.out = out->typed_data();
  kernels()->attention(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error attention_back(ffi::ThreadPool pool, Array g, Array q, Array k, Array v, ffi::RemainingArgs rest, ArrayOut g_q, ArrayOut g_k, ArrayOut g_v,
                          bool causal, int64_t inner) {
  AttentionArrays of = attention_arrays(q, k, v, rest, causal, inner);
  of.g = g.typed_data(), of.g_q = g_q->typed_data(), of.g_k = g_k->typed_data(), of.g_v = g_v->typed_data();
  kernels()->attention_back(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

// `groups` is 0 where there is a weight for each column.
LayerNormArrays norm_arrays(const Rows& x, const Row& weight, int64_t groups, float eps) {
  const int64_t columns = x.dimensions()[1];
  return {x.dimensions()[0], columns, groups, groups ? columns * groups / (int64_t)weight.element_count() : 1, eps, x.typed_data(), weight.typed_data()};
}

ffi::Error layer_norm(ffi::ThreadPool pool, Rows x, Row weight, Row bias, RowsOut out, float eps, int64_t groups) {
  LayerNormArrays of = norm_arrays(x, weight, groups, eps);
  of.bias = bias.typed_data(), of.out = out->typed_data();
  (groups ? kernels()->group_norm : kernels()->layer_norm)(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error layer_norm_back(ffi::ThreadPool pool, Rows g, Rows x, Row weight, RowsOut g_x, RowOut g_weight, RowOut g_bias, float eps, int64_t groups) {
  LayerNormArrays of = norm_arrays(x, weight, groups, eps);
  of.g = g.typed_data(), of.g_x = g_x->typed_data(), of.g_weight = g_weight->typed_data(), of.g_bias = g_bias->typed_data();
  (groups ? kernels()->group_norm_back : kernels()->layer_norm_back)(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error sums(ffi::ThreadPool pool, Rows x, RowOut out) {
  const Parallel parallel{&run_tasks, &pool, pool.num_threads()};
  kernels()->sums(x.dimensions()[0], x.dimensions()[1], x.typed_data(), out->typed_data(), parallel);
  return ffi::Error::Success();
}

ffi::Error gelu(ffi::ThreadPool pool, Any x, AnyOut out) {
  kernels()->gelu(x.element_count(), x.typed_data(), nullptr, out->typed_data(), {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error gelu_back(ffi::ThreadPool pool, Any g, Any x, AnyOut out) {
  kernels()->gelu(x.element_count(), x.typed_data(), g.typed_data(), out->typed_data(), {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error waves(ffi::ThreadPool pool, Any x, AnyOut out, bool cosine) {
  kernels()->waves(x.element_count(), x.typed_data(), out->typed_data(), cosine, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

// `ends` has one number more than there are results; both are empty where the axis stays.
Taps taps(const Numbers& ends, const Numbers& index, ffi::Span<const float> weight) {
  return {ends.size() ? (int64_t)ends.size() - 1 : 0, ends.begin(), index.begin(), weight.begin()};
}

ffi::Error resample(ffi::ThreadPool pool, Sequence x, SequenceOut out, Numbers y_ends, Numbers y_index, ffi::Span<const float> y_weight, Numbers x_ends,
                    Numbers x_index, ffi::Span<const float> x_weight) {
  const auto sizes = x.dimensions();
  const ResampleArrays of{sizes[0], sizes[1], sizes[2], taps(y_ends, y_index, y_weight), taps(x_ends, x_index, x_weight), x.typed_data(), out->typed_data()};
  kernels()->resample(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

SampleArrays sample_arrays(const Array& x, const Rows& ys, const Rows& xs) {
  const auto sizes = x.dimensions();
  return {sizes[0], sizes[1], sizes[2], sizes[3], ys.dimensions()[1], x.typed_data(), ys.typed_data(), xs.typed_data()};
}

ffi::Error samples(ffi::ThreadPool pool, Array x, Rows ys, Rows xs, SequenceOut out) {
  SampleArrays of = sample_arrays(x, ys, xs);
  of.out = out->typed_data();
  kernels()->samples(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

ffi::Error samples_back(ffi::ThreadPool pool, Sequence g, Array x, Rows ys, Rows xs, ArrayOut g_x, RowsOut g_ys, RowsOut g_xs) {
  SampleArrays of = sample_arrays(x, ys, xs);
  of.g = g.typed_data(), of.g_in = g_x->typed_data(), of.g_y = g_ys->typed_data(), of.g_x = g_xs->typed_data();
  kernels()->samples_back(of, {&run_tasks, &pool, pool.num_threads()});
  return ffi::Error::Success();
}

}  // namespace

bool matrix_units() {
  static const bool found = matrix_units_present() && !limited_to("avx2") && !limited_to("avx512");
  return found;
}

float* scratch(int slot, size_t floats) {
  thread_local Memory memory;
  if (memory.floats[slot] < floats) {
    std::free(memory.data[slot]);
    const size_t bytes = (floats * sizeof(float) + kPage - 1) / kPage * kPage;
    memory.data[slot] = static_cast<float*>(std::aligned_alloc(kPage, bytes));
    memory.floats[slot] = memory.data[slot] ? bytes / sizeof(float) : 0;
    if (!memory.data[slot]) throw std::bad_alloc();
  }
  return memory.data[slot];
}

Lent::Lent(size_t floats) : data(nullptr), floats_(0) {
  if (const std::unique_lock<std::mutex> lock(store.mutex, std::try_to_lock); lock && store.count) {
    int best = 0;  // the smallest that suffices, or else the largest
    for (int i = 1; i < store.count; ++i) {
      const size_t size = store.floats[i], of_best = store.floats[best];
      if (of_best < floats ? size > of_best : size >= floats && size < of_best) best = i;
    }
    data = store.data[best], floats_ = store.floats[best];
    --store.count, store.held -= floats_, store.data[best] = store.data[store.count], store.floats[best] = store.floats[store.count];
  }
  if (data && floats_ >= floats) return;
  std::free(data);
  const size_t bytes = (floats * sizeof(float) + kPage) / kPage * kPage;
  data = static_cast<float*>(std::aligned_alloc(kPage, bytes)), floats_ = bytes / sizeof(float);
  if (!data) throw std::bad_alloc();
}

Lent::~Lent() {
  const std::unique_lock<std::mutex> lock(store.mutex, std::try_to_lock);
  if (lock && store.count < kLendable && store.held + floats_ <= kLendableFloats)
    store.held += floats_, store.data[store.count] = data, store.floats[store.count++] = floats_;
  else
    std::free(data);
}

}  // namespace jaxtorch

extern "C" {
#pragma GCC visibility push(default)
int jaxtorch_native_version();
int jaxtorch_native_supported();
int jaxtorch_native_matrix_units();
int jaxtorch_native_with_avx2_alone();
XLA_FFI_Error* jaxtorch_convolve(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_convolve_of_kernel(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_product(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_products(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_linear(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_lstm(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_lstm_states(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_lstm_back(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_gru(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_gru_states(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_gru_back(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_rnn(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_rnn_back(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_pick(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_add_picked(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_attention(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_attention_back(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_layer_norm(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_layer_norm_back(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_sums(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_gelu(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_gelu_back(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_waves(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_resample(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_samples(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_samples_back(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_sort(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_sort_long(XLA_FFI_CallFrame*);
XLA_FFI_Error* jaxtorch_running(XLA_FFI_CallFrame*);
#pragma GCC visibility pop
}

int jaxtorch_native_version() { return 19; }

int jaxtorch_native_supported() { return jaxtorch::kernels() != nullptr; }

int jaxtorch_native_matrix_units() { return jaxtorch::matrix_units(); }

int jaxtorch_native_with_avx2_alone() { return jaxtorch::kernels() == &jaxtorch::avx2_kernels; }

// -- what XLA knows each of them by, with the types of its arguments, results and attributes ----------------------

using namespace jaxtorch;

#define HANDLER(name, types) XLA_FFI_DEFINE_HANDLER_SYMBOL(jaxtorch_##name, jaxtorch::name, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>() types)

HANDLER(convolve, .Arg<Array>().Arg<Any>() .Ret<Array>() .Attr<int64_t>("groups").Attr<Numbers>("window").Attr<Numbers>("layout"));
HANDLER(convolve_of_kernel,
        .Arg<Array>().Arg<Array>() .Ret<Any>() .Attr<int64_t>("groups").Attr<Numbers>("window").Attr<Numbers>("layout"));
HANDLER(product, .Arg<Rows>().Arg<Rows>() .Ret<Rows>() .Attr<bool>("a_turned").Attr<bool>("b_turned"));
HANDLER(products, .Arg<Sequence>().Arg<Sequence>() .Ret<Sequence>() .Attr<bool>("a_turned").Attr<bool>("b_turned"));
HANDLER(linear, .Arg<Rows>().Arg<Rows>().Arg<Row>() .Ret<Rows>());
HANDLER(lstm_states, .Arg<Sequence>().Arg<Rows>().Arg<Rows>().Arg<Rows>().RemainingArgs() .Ret<Sequence>().Ret<Rows>() .Attr<bool>("reverse").Attr<bool>("picked"));
HANDLER(lstm,
        .Arg<Sequence>().Arg<Rows>().Arg<Rows>().Arg<Rows>().RemainingArgs() .Ret<Sequence>().Ret<Sequence>().Ret<Sequence>() .Attr<bool>("reverse").Attr<bool>("picked"));
HANDLER(lstm_back,
        .Arg<Sequence>().Arg<Rows>().Arg<Sequence>().Arg<Sequence>().Arg<Rows>().Arg<Rows>().RemainingArgs()
            .Ret<Sequence>().Ret<Rows>().Ret<Rows>() .Attr<bool>("reverse"));
HANDLER(gru_states, .Arg<Sequence>().Arg<Rows>().Arg<Rows>().Arg<Row>().RemainingArgs() .Ret<Sequence>() .Attr<bool>("reverse").Attr<bool>("picked"));
HANDLER(gru, .Arg<Sequence>().Arg<Rows>().Arg<Rows>().Arg<Row>().RemainingArgs() .Ret<Sequence>().Ret<Sequence>() .Attr<bool>("reverse").Attr<bool>("picked"));
HANDLER(gru_back,
        .Arg<Sequence>().Arg<Sequence>().Arg<Sequence>().Arg<Rows>().Arg<Rows>().RemainingArgs() .Ret<Sequence>().Ret<Sequence>().Ret<Rows>()
            .Attr<bool>("reverse"));
HANDLER(rnn, .Arg<Sequence>().Arg<Rows>().Arg<Rows>().RemainingArgs() .Ret<Sequence>() .Attr<bool>("relu").Attr<bool>("reverse").Attr<bool>("picked"));
HANDLER(rnn_back, .Arg<Sequence>().Arg<Sequence>().Arg<Rows>().RemainingArgs() .Ret<Sequence>().Ret<Rows>() .Attr<bool>("relu").Attr<bool>("reverse"));
HANDLER(pick, .Arg<Rows>().Arg<Integers>() .Ret<Rows>());
HANDLER(add_picked, .Arg<Rows>().Arg<Integers>() .Ret<Rows>());
HANDLER(attention, .Arg<Array>().Arg<Array>().Arg<Array>().RemainingArgs() .Ret<Array>() .Attr<bool>("causal").Attr<int64_t>("inner"));
HANDLER(attention_back,
        .Arg<Array>().Arg<Array>().Arg<Array>().Arg<Array>().RemainingArgs()
            .Ret<Array>().Ret<Array>().Ret<Array>() .Attr<bool>("causal").Attr<int64_t>("inner"));
HANDLER(layer_norm, .Arg<Rows>().Arg<Row>().Arg<Row>() .Ret<Rows>() .Attr<float>("eps").Attr<int64_t>("groups"));
HANDLER(layer_norm_back, .Arg<Rows>().Arg<Rows>().Arg<Row>() .Ret<Rows>().Ret<Row>().Ret<Row>() .Attr<float>("eps").Attr<int64_t>("groups"));
HANDLER(sums, .Arg<Rows>() .Ret<Row>());
HANDLER(gelu, .Arg<Any>() .Ret<Any>());
HANDLER(gelu_back, .Arg<Any>().Arg<Any>() .Ret<Any>());
HANDLER(waves, .Arg<Any>() .Ret<Any>() .Attr<bool>("cosine"));
HANDLER(resample,
        .Arg<Sequence>() .Ret<Sequence>() .Attr<Numbers>("y_ends").Attr<Numbers>("y_index").Attr<ffi::Span<const float>>("y_weight")
            .Attr<Numbers>("x_ends").Attr<Numbers>("x_index").Attr<ffi::Span<const float>>("x_weight"));
HANDLER(samples, .Arg<Array>().Arg<Rows>().Arg<Rows>() .Ret<Sequence>());
HANDLER(samples_back, .Arg<Sequence>().Arg<Array>().Arg<Rows>().Arg<Rows>() .Ret<Array>().Ret<Rows>().Ret<Rows>());
HANDLER(sort, .Arg<Rows>() .Ret<Rows>().Ret<LongRows>() .Attr<bool>("descending"));
HANDLER(sort_long, .Arg<LongRows>() .Ret<LongRows>().Ret<LongRows>() .Attr<bool>("descending"));
HANDLER(running, .Arg<Sequence>() .Ret<Sequence>() .Attr<int64_t>("kind").Attr<bool>("reverse"));

#include "entry.inc"
