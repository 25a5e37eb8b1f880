// Products of float32 matrices on the matrix units of newer x86 processors (AMX), which multiply numbers of 8 significant bits and add
// in float32.
//
// Each number is the sum of three such pieces, exactly, and of the nine products of pieces the six are taken that a product in float32
// does not round away (Henry, Tang and Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for higher-precision
// computations", 2019). Results are as near to the exact ones as those of a loop in float32. Where a matrix has numbers without such
// pieces (infinite, not a number), or only very small ones, it is found while they are cut, and the caller takes another way.
#include "kernels.h"

#if __has_include(<amxtileintrin.h>)
#include <cpuid.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")

namespace jaxtorch {
namespace {

#include "stages.inc"

typedef uint16_t Piece;

constexpr int64_t kTile = 16 * 32;            // pieces in a tile: 16 rows (or columns of the right matrix), 32 steps of the sum
constexpr int64_t kBlock = 32;                // rows, columns or steps of a block
constexpr int64_t kBlockPieces = 6 * kTile;   // of a block: two tiles of the first pieces, two of the second, two of the third
constexpr int64_t kHeld = 512;                // steps that are cut into pieces at a time
constexpr int64_t kRows = 128;                // rows that are cut into pieces at a time

// The sizes of the numbers seen so far, as bits.
struct Sizes {
  __m512i largest{};

  void see(__m512 x) {
    largest = _mm512_max_epu32(largest, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
  }

  // Between 2^-50 and 2^127, or zero.
  bool fit() const {
    const uint32_t top = _mm512_reduce_max_epu32(largest);
    return top == 0 || (top >= (127u - 50) << 23 && below_overflow());
  }

  bool below_overflow() const { return _mm512_reduce_max_epu32(largest) < 254u << 23; }
};

// -- cutting into pieces -----------------------------------------------------------------------------------

struct Cut {
  __m512i pieces[3];  // of 16 numbers and then of 16 others
};

inline __m512 number(__m256i pieces) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(pieces), 16)); }

inline Cut cut(__m512 a, __m512 b, Sizes& sizes) {
  sizes.see(a), sizes.see(b);
  Cut found;
  for (__m512i& piece : found.pieces) {
    piece = (__m512i)_mm512_cvtne2ps_pbh(b, a);
    a = _mm512_sub_ps(a, number(_mm512_castsi512_si256(piece)));
    b = _mm512_sub_ps(b, number(_mm512_extracti64x4_epi64(piece, 1)));
  }
  return found;
}

inline __m512 load(const float* from, int64_t count) {
  return count >= 16 ? _mm512_loadu_ps(from) : count > 0 ? _mm512_maskz_loadu_ps((1u << count) - 1, from) : _mm512_setzero_ps();
}

// Turns a matrix of 16 by 16: in 4 by 4 blocks, and then the blocks.
inline void transpose(__m512* x) {
  const auto pair = [](__m512 a, __m512 b, bool high) {
    const __m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
    return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(c, d) : _mm512_unpacklo_pd(c, d));
  };
  __m512 y[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512 a = _mm512_unpacklo_ps(x[i], x[i + 1]), b = _mm512_unpackhi_ps(x[i], x[i + 1]);
    const __m512 c = _mm512_unpacklo_ps(x[i + 2], x[i + 3]), d = _mm512_unpackhi_ps(x[i + 2], x[i + 3]);
    y[i] = pair(a, c, false), y[i + 1] = pair(a, c, true), y[i + 2] = pair(b, d, false), y[i + 3] = pair(b, d, true);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 even = _mm512_shuffle_f32x4(y[i], y[i + 4], 0x88), odd = _mm512_shuffle_f32x4(y[i], y[i + 4], 0xdd);
    const __m512 even_below = _mm512_shuffle_f32x4(y[i + 8], y[i + 12], 0x88), odd_below = _mm512_shuffle_f32x4(y[i + 8], y[i + 12], 0xdd);
    x[i] = _mm512_shuffle_f32x4(even, even_below, 0x88), x[i + 8] = _mm512_shuffle_f32x4(even, even_below, 0xdd);
    x[i + 4] = _mm512_shuffle_f32x4(odd, odd_below, 0x88), x[i + 12] = _mm512_shuffle_f32x4(odd, odd_below, 0xdd);
  }
}

// A matrix as it is read: `count` rows (of the left one; columns of the right one) by `steps` of the sum. `along`: neighbouring steps lie
// side by side in a line, otherwise neighbouring rows do. Lines are `stride` apart, or where `places` has them.
struct Operand {
  const float* data;
  int64_t stride, count, steps;
  bool along;
  const int64_t* places = nullptr;

  Operand part(int64_t first, int64_t some, int64_t step, int64_t some_steps) const {
    const int64_t line = along ? first : step, within = along ? step : first;
    return {data + (places ? 0 : line * stride) + within, stride, least(some, count - first), least(some_steps, steps - step), along, places ? places + line : nullptr};
  }

  const float* line(int64_t i) const { return data + (places ? places[i] : i * stride); }
};

// Sixteen vectors, each from one of the lines from `first` on (there are `lines`), `within` numbers on in it.
inline void read(const Operand& of, int64_t first, int64_t lines, int64_t within, int64_t width, __m512* to) {
  for (int64_t r = 0; r < 16; ++r) {
    if (first + r >= lines) {
      to[r] = _mm512_setzero_ps();
      continue;
    }
    const float* from = of.line(first + r) + within;
    to[r] = load(from, width - within);
    _mm_prefetch(from + 2 * kBlock, _MM_HINT_T0);
  }
}

// One tile of each piece, from the first 16 rows and 32 steps. `paired`: for the right matrix, whose tiles have two steps side by side.
template <bool along, bool paired>
void pack_tile(const Operand& of, Piece* to, Sizes& sizes) {
  static const __m512i alternating = [] {
    alignas(64) uint16_t order[32];
    for (int i = 0; i < 16; ++i) order[2 * i] = i, order[2 * i + 1] = 16 + i;
    return _mm512_load_si512(order);
  }();
  __m512 x[32];
  if (along) {
    read(of, 0, of.count, 0, of.steps, x);
    read(of, 0, of.count, 16, of.steps, x + 16);
  } else {
    read(of, 0, of.steps, 0, of.count, x);
    read(of, 16, of.steps, 0, of.count, x + 16);
  }
  if (along == paired) transpose(x), transpose(x + 16);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    const Cut found = paired ? cut(x[2 * r], x[2 * r + 1], sizes) : cut(x[r], x[16 + r], sizes);
    for (int p = 0; p < 3; ++p)
      _mm512_store_si512(to + p * 2 * kTile + r * 32, paired ? _mm512_permutexvar_epi16(alternating, found.pieces[p]) : found.pieces[p]);
  }
}

// Blocks [row][step] of all of an operand, in the order in which it lies in memory; `apart` pieces from one row to the next.
template <bool paired>
void pack(const Operand& of, Piece* to, Sizes& sizes, int64_t apart = 0) {
  const int64_t rows = over(of.count, kBlock), steps = over(of.steps, kBlock);
  if (!apart) apart = steps * kBlockPieces;
  for (int64_t n = 0; n < rows * steps; ++n) {
    const int64_t row = of.along ? n / steps : n % rows, step = of.along ? n % steps : n / rows;
    for (int64_t half = 0; half < 2; ++half) {
      const Operand tile = of.part(row * kBlock + 16 * half, 16, step * kBlock, kBlock);
      (of.along ? &pack_tile<true, paired> : &pack_tile<false, paired>)(tile, to + row * apart + step * kBlockPieces + half * kTile, sizes);
    }
  }
}

// -- multiplying -------------------------------------------------------------------------------------------

struct __attribute__((packed)) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// out (32, 32; rows `stride` apart) = the product of two rows of blocks, plus `from`, whose rows are `from_stride` apart, where it is not null.
inline void multiply(const Piece* a, const Piece* b, int64_t blocks, float* out, int64_t stride, const float* from, int64_t from_stride) {
  float* below = out + 16 * stride;
  const int64_t bytes = stride * sizeof(float);
  asm volatile("" ::: "memory");  // the tiles are read behind the compiler's back
  if (from) {
    const float* from_below = from + 16 * from_stride;
    const int64_t from_bytes = from_stride * sizeof(float);
    _tile_loadd(0, from, from_bytes);
    _tile_loadd(1, from + 16, from_bytes);
    _tile_loadd(2, from_below, from_bytes);
    _tile_loadd(3, from_below + 16, from_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const auto left = [&](int piece) __attribute__((always_inline)) {
    _tile_loadd(4, a + piece * 2 * kTile, 64);
    _tile_loadd(5, a + (piece * 2 + 1) * kTile, 64);
  };
  const auto right = [&](int piece) __attribute__((always_inline)) {
    _tile_loadd(6, b + piece * 2 * kTile, 64);
    _tile_loadd(7, b + (piece * 2 + 1) * kTile, 64);
  };
  const auto add_products = [&]() __attribute__((always_inline)) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  };
  for (int64_t k = 0; k < blocks; ++k, a += kBlockPieces, b += kBlockPieces) {
    left(0), right(2), add_products();
    right(1), add_products();
    left(1), add_products();
    right(0), add_products();
    left(2), add_products();
    left(0), add_products();
  }
  _tile_stored(0, out, bytes);
  _tile_stored(1, out + 16, bytes);
  _tile_stored(2, below, bytes);
  _tile_stored(3, below + 16, bytes);
}

// Each task has some of the rows and some of the columns, and cuts up by itself what it needs: nothing is waited for.
struct Product {
  Operand a, b;
  const float* row;  // that all rows of the result begin with, or null
  float* out;
  int64_t across = 1, down = 1;  // tasks along a row of tasks, and rows of tasks
  bool fitting = true;

  Product(const Operand& a, const Operand& b, const float* row, float* out, int64_t threads) : a(a), b(b), row(row), out(out) {
    int64_t least_cut = INT64_MAX;
    for (int64_t d = 1; d <= threads; ++d) {
      const int64_t to_cut = over(a.count, d) + over(b.count, threads / d);
      if (to_cut < least_cut) least_cut = to_cut, down = d, across = threads / d;
    }
    down = least(down, over(a.count, kBlock)), across = least(across, over(b.count, kBlock));
  }

  void task(int64_t i) {
    static const TileShapes shapes;
    _tile_loadconfig(&shapes);
    const auto bound = [](int64_t count, int64_t part, int64_t parts) { return least(part * over(count, kBlock) / parts * kBlock, count); };
    const int64_t first = bound(a.count, i / across, down), last = bound(a.count, i / across + 1, down);
    const int64_t column = bound(b.count, i % across, across), column_end = bound(b.count, i % across + 1, across);
    const int64_t deepest = over(least(kHeld, a.steps), kBlock) * kBlockPieces;
    Piece* left = (Piece*)scratch(0, over(kRows, kBlock) * deepest / 2);
    Piece* right = (Piece*)scratch(1, over(column_end - column, kBlock) * deepest / 2);
    Sizes sizes;
    for (int64_t k = 0; k < a.steps; k += kHeld) {
      const Operand columns = b.part(column, column_end - column, k, kHeld);
      pack<true>(columns, right, sizes);
      for (int64_t r = first; r < last; r += kRows) {
        const Operand rows = a.part(r, least(kRows, last - r), k, kHeld);
        pack<false>(rows, left, sizes);
        float* to = out + r * b.count + column;
        blocks(left, rows.count, right, columns.count, over(rows.steps, kBlock), to, k ? to : row ? row + column : nullptr, k ? b.count : 0);
      }
    }
    _tile_release();
    if (!sizes.fit()) __atomic_store_n(&fitting, false, __ATOMIC_RELAXED);
  }

  // `from`: what the sums begin with, or null.
  void blocks(const Piece* left, int64_t rows, const Piece* right, int64_t columns, int64_t deep, float* to, const float* from, int64_t from_stride) const {
    const int64_t stride = b.count;
    for (int64_t c = 0; c < columns; c += kBlock)
      for (int64_t r = 0; r < rows; r += kBlock) {
        const Piece *x = left + r / kBlock * deep * kBlockPieces, *y = right + c / kBlock * deep * kBlockPieces;
        const float* before = from ? from + r * from_stride + c : nullptr;
        float* at = to + r * stride + c;
        if (rows - r >= kBlock && columns - c >= kBlock) {
          multiply(x, y, deep, at, stride, before, from_stride);
          continue;
        }
        alignas(64) float whole[kBlock * kBlock];
        multiply(x, y, deep, whole, kBlock, nullptr, 0);
        for (int64_t i = 0; i < least(kBlock, rows - r); ++i)
          for (int64_t j = 0; j < least(kBlock, columns - c); ++j) at[i * stride + j] = (before ? before[i * from_stride + j] : 0) + whole[i * kBlock + j];
      }
  }
};

// -- some rows at a time, with a matrix that is kept in pieces -------------------------------------------------

// out[i] (16, 16; rows kBlock apart) = the product of one row of tiles with another, for up to four of them.
template <int count>
void multiply_some(const Piece* const* a, const Piece* const* b, int64_t blocks, float* const* out) {
  static const TileShapes shapes;
  asm volatile("" ::: "memory");
  _tile_loadconfig(&shapes);
#define EACH(what)              \
  what(0);                      \
  if constexpr (count > 1) what(1); \
  if constexpr (count > 2) what(2); \
  if constexpr (count > 3) what(3)
#define ADD_PRODUCTS(i)                              \
  {                                                  \
    const Piece *left = a[i] + k, *right = b[i] + k; \
    _tile_loadd(4, left, 64);                        \
    _tile_loadd(6, right + 4 * kTile, 64);           \
    _tile_dpbf16ps(i, 4, 6);                         \
    _tile_loadd(7, right + 2 * kTile, 64);           \
    _tile_dpbf16ps(i, 4, 7);                         \
    _tile_loadd(5, left + 2 * kTile, 64);            \
    _tile_dpbf16ps(i, 5, 7);                         \
    _tile_loadd(6, right, 64);                       \
    _tile_dpbf16ps(i, 5, 6);                         \
    _tile_loadd(7, left + 4 * kTile, 64);            \
    _tile_dpbf16ps(i, 7, 6);                         \
    _tile_dpbf16ps(i, 4, 6);                         \
  }
#define STORE(i) _tile_stored(i, out[i], kBlock * sizeof(float))
  EACH(_tile_zero);
  for (int64_t k = 0; k < blocks * kBlockPieces; k += kBlockPieces) {
    EACH(ADD_PRODUCTS);
  }
  EACH(STORE);
#undef EACH
#undef ADD_PRODUCTS
#undef STORE
  _tile_release();
}

}  // namespace

bool matrix_units_present() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & bit_AMX_BF16) || !(d & bit_AMX_TILE)) return false;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & bit_AVX512BF16)) return false;
  constexpr int kAllow = 0x1023, kTileData = 18;  // of asm/prctl.h: a process has to ask for the registers
  return syscall(SYS_arch_prctl, kAllow, kTileData) == 0;
}

int64_t held_floats(int64_t steps) { return over(steps, kBlock) * kBlockPieces / 2; }

bool hold(const float* w, int64_t stride, bool along, int64_t count, int64_t steps, float* held) {
  Sizes sizes;
  pack<true>(Operand{w, stride, least(count, kBlock), steps, along}, (Piece*)held, sizes);
  return sizes.fit();
}

bool hold_at(const float* w, const int64_t* places, int64_t count, int64_t steps, float* held) {
  Sizes sizes;
  pack<true>(Operand{w, 0, least(count, kBlock), steps, false, places}, (Piece*)held, sizes);
  return sizes.below_overflow();
}

bool cut_at(const float* data, const int64_t* places, bool along, int64_t count, int64_t steps, float* pieces, int64_t apart) {
  Sizes sizes;
  pack<false>(Operand{data, 0, count, steps, along, places}, (Piece*)pieces, sizes, 2 * apart);
  return sizes.below_overflow();
}

void times_held(const float* pieces, const float* held, int64_t steps, float* out, int64_t stride, bool add) {
  static const TileShapes shapes;
  _tile_loadconfig(&shapes);
  multiply((const Piece*)pieces, (const Piece*)held, over(steps, kBlock), out, stride, add ? out : nullptr, stride);
  _tile_release();
}

bool cut_rows(const float* rows, int64_t stride, int64_t count, int64_t steps, float* pieces) {
  Sizes sizes;
  const Operand all{rows, stride, least(count, 16), steps, true};
  for (int64_t k = 0; k < steps; k += kBlock)
    pack_tile<true, false>(all.part(0, 16, k, kBlock), (Piece*)pieces + k / kBlock * kBlockPieces, sizes);
  return sizes.below_overflow();
}

void rows_times_held(const float* const* pieces, const float* const* held, int64_t steps, float* const* out, int64_t count) {
  static constexpr decltype(&multiply_some<1>) multiply[] = {&multiply_some<1>, &multiply_some<2>, &multiply_some<3>, &multiply_some<4>};
  const Piece *a[8], *b[8];
  float* to[8];
  const int64_t tiles = 2 * count;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t one = i % count, half = i / count;
    a[i] = (const Piece*)pieces[one], b[i] = (const Piece*)held[one] + half * kTile, to[i] = out[one] + half * 16;
  }
  for (int64_t i = 0; i < tiles; i += 4) multiply[least(4, tiles - i) - 1](a + i, b + i, over(steps, kBlock), to + i);
}

bool product_on_matrix_units(const ProductArrays& of, const Parallel& parallel) {
  if (!of.k) return false;
  const Operand a{of.a, of.a_turned ? of.m : of.k, of.m, of.k, !of.a_turned}, b{of.b, of.b_turned ? of.k : of.n, of.n, of.k, of.b_turned};
  Product p(a, b, of.row, of.out, parallel.threads);
  parallel.run(parallel.pool, p.down * p.across, [](void* self, int64_t i) { ((Product*)self)->task(i); }, &p);
  return p.fitting;
}

}  // namespace jaxtorch

#else

namespace jaxtorch {
bool matrix_units_present() { return false; }
bool product_on_matrix_units(const ProductArrays&, const Parallel&) { return false; }
int64_t held_floats(int64_t) { return 0; }
bool hold(const float*, int64_t, bool, int64_t, int64_t, float*) { return false; }
bool hold_at(const float*, const int64_t*, int64_t, int64_t, float*) { return false; }
bool cut_at(const float*, const int64_t*, bool, int64_t, int64_t, float*, int64_t) { return false; }
void times_held(const float*, const float*, int64_t, float*, int64_t, bool) {}
bool cut_rows(const float*, int64_t, int64_t, int64_t, float*) { return false; }
void rows_times_held(const float* const*, const float* const*, int64_t, float* const*, int64_t) {}
}  // namespace jaxtorch

#endif
