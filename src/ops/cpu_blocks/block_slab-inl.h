// Block-quantised weights as operand B: slabs of 32 steps of k of one panel of columns, for one Highway target.
// Include after hwy/foreach_target.h.
//
// Codes of a slab are turned as bytes, so that columns lie side by side; then a step of k costs a vector of columns one
// load, one conversion, a multiplication by the columns' scales, and a subtraction of their minima where the format has
// such. The numbers are those of decode_blocks to the bit, and sums over them are made in the order of micro_kernel.

#if defined(CHIARO_BLOCK_SLAB_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_BLOCK_SLAB_INL_H
#undef CHIARO_BLOCK_SLAB_INL_H
#else
#define CHIARO_BLOCK_SLAB_INL_H
#endif

#include "core/block_formats_layout.h"
#include "hwy/cache_control.h"
#include "ops/cpu_blocks/gemm.h"
#include "ops/cpu_blocks/gemm_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

inline constexpr int kSlab = blocks::kPart;  // steps of k
// Rows of A whose sums stay in registers while slabs are multiplied as they come, never stored as f32.
inline constexpr int kSlabRows = kMr >= 12 ? 8 : 4;

// Bytes from step k to step k + 1 of turned codes; steps k and k + 16 share a line. Lines are [columns / 16][k / 16]
// pieces of 16 columns.
HWY_INLINE int64_t slab_stride() {
  return std::max<int64_t>(32, 2 * panel_width());
}

struct BlockSlab {
  HWY_ALIGN uint8_t codes[16 * 2 * kGemmNrMax];
  HWY_ALIGN float scale[2][kGemmNrMax], minimum[2][kGemmNrMax];  // of steps 0-15 and 16-31
  // Of the super-block that the slab is in: its scales as whole numbers, turned like codes; its own scales.
  HWY_ALIGN uint8_t whole[16 * 2 * kGemmNrMax];
  HWY_ALIGN float d[kGemmNrMax], dmin[kGemmNrMax];
  int64_t block = -1;  // which it is
};

// The rows of B that are the columns of one panel; `next`: bytes from each to that of the next panel.
struct BlockColumns {
  const uint8_t* row[kGemmNrMax];
  int64_t next = 0;
};

// Columns [n0, n0 + columns) of B; those that are not there are the last one again, for sums that nobody reads.
HWY_INLINE BlockColumns block_columns(const GemmB& b, int64_t n0, int64_t columns) {
  const DTypeTraits& size = traits(b.dtype);
  const int64_t row = b.n_stride / size.block_elements * size.block_bytes;
  BlockColumns c;
  for (int64_t n = 0; n < panel_width(); ++n) {
    c.row[n] = static_cast<const uint8_t*>(b.data) + (n0 + std::min(n, columns - 1)) * row;
  }
  c.next = panel_width() * row;
  return c;
}

// staged[i][..], 16 lines of bytes, in pieces of 16 by 16 turned: byte j of piece p of line i to byte i of piece p of
// line j. `table`: what the codes stand for, or null.
HWY_INLINE void turn_codes(const uint8_t* staged, const int8_t* table, uint8_t* turned) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t stride = slab_stride();
  for (int64_t at = 0; at < stride; at += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Vec<decltype(d)> from[16], to[16];
    for (int i = 0; i < 16; ++i) from[i] = hn::Load(d, staged + i * stride + at);
    if (table != nullptr) {
      const auto values = hn::LoadDup128(d, reinterpret_cast<const uint8_t*>(table));
      for (auto& v : from) v = hn::TableLookupBytes(values, v);
    }
    const auto shuffle = [d](const auto& in, auto& out) HWY_ATTR {
      for (int i = 0; i < 8; ++i) {
        out[2 * i] = hn::InterleaveLower(d, in[i], in[i + 8]);
        out[2 * i + 1] = hn::InterleaveUpper(d, in[i], in[i + 8]);
      }
    };
    shuffle(from, to);
    shuffle(to, from);
    shuffle(from, to);
    shuffle(to, from);
    for (int i = 0; i < 16; ++i) hn::Store(from[i], d, turned + i * stride + at);
  }
}

// Where column vector v begins in a line of turned bytes, first half.
HWY_INLINE int64_t line_offset(int v) {
  const int64_t column = v * vector_lanes();
  return column / 16 * 32 + column % 16;
}

// What the columns' blocks have in common: their scales in half precision, and the whole numbers of super-blocks.
template <class Layout>
HWY_INLINE void stage_scales(const BlockColumns& columns, int64_t offset, BlockSlab& slab) {
  const DF df;
  HWY_ALIGN uint8_t staged[16 * 2 * kGemmNrMax];
  HWY_ALIGN uint16_t d[kGemmNrMax], dmin[kGemmNrMax];
  const int64_t width = panel_width();
  if (width < 16) std::memset(staged, 0, sizeof staged);
  for (int64_t n = 0; n < width; ++n) {
    const uint8_t* block = columns.row[n] + offset;
    d[n] = Layout::d(block);
    if constexpr (Layout::kMinimum) dmin[n] = Layout::dmin(block);
    if constexpr (Layout::kScales == blocks::Scales::kWhole) {
      Layout::scales(block).store(staged + n % 16 * slab_stride() + n / 16 * 32);
    }
  }
  if constexpr (Layout::kScales == blocks::Scales::kWhole) turn_codes(staged, nullptr, slab.whole);
  for (int64_t n = 0; n < width; n += vector_lanes()) {
    hn::Store(LoadF16::load(d + n), df, slab.d + n);
    if constexpr (Layout::kMinimum) hn::Store(LoadF16::load(dmin + n), df, slab.dmin + n);
  }
}

// The scales and minima of part p for the slab's two halves.
template <class Layout>
HWY_INLINE void spread_scales(int p, BlockSlab& slab) {
  const DF df;
  for (int v = 0; v < 2; ++v) {
    const int64_t n = v * vector_lanes();
    const VF d = hn::Load(df, slab.d + n);
    VF dmin = hn::Zero(df);
    if constexpr (Layout::kMinimum) dmin = hn::Load(df, slab.dmin + n);
    for (int half = 0; half < 2; ++half) {
      if constexpr (Layout::kScales == blocks::Scales::kWhole) {
        const int group = p * Layout::kGroups + half * (Layout::kGroups - 1);
        const auto* line = reinterpret_cast<const int8_t*>(slab.whole + group * slab_stride() + line_offset(v));
        hn::Store(hn::Mul(d, LoadI8::load(line)), df, slab.scale[half] + n);
        if constexpr (Layout::kMinimum) hn::Store(hn::Mul(dmin, LoadI8::load(line + 16)), df, slab.minimum[half] + n);
      } else {
        hn::Store(d, df, slab.scale[half] + n);
        if constexpr (Layout::kMinimum) hn::Store(hn::Neg(dmin), df, slab.minimum[half] + n);
      }
    }
  }
}

// Part `part` of every row. The slab that a row of parts is staged in must be one and the same, fresh for each panel.
template <class Layout>
HWY_NOINLINE void stage_slab(const BlockColumns& columns, int64_t part, BlockSlab& slab) {
  constexpr int64_t kParts = Layout::kElements / kSlab;
  constexpr int64_t kPartsOfLine = std::max<int64_t>(1, 64 * kParts / Layout::kBytes);
  const int64_t offset = part / kParts * Layout::kBytes, stride = slab_stride(), width = panel_width();
  const auto p = static_cast<int>(part % kParts);
  HWY_ALIGN uint8_t staged[16 * 2 * kGemmNrMax];
  if (width < 16) std::memset(staged, 0, sizeof staged);
  for (int64_t n = 0; n < width; ++n) {
    const uint8_t* block = columns.row[n] + offset;
    if (part % kPartsOfLine == 0) hwy::Prefetch(block + columns.next);
    Layout::codes(block, p).store(staged + n % 16 * stride + n / 16 * 32);
    if constexpr (Layout::kScales == blocks::Scales::kFloat) {
      for (int half = 0; half < 2; ++half) {
        slab.scale[half][n] = Layout::scale(block, p, half * (Layout::kGroups - 1));
      }
    }
  }
  if constexpr (Layout::kScales != blocks::Scales::kFloat) {
    if (slab.block != part / kParts) stage_scales<Layout>(columns, offset, slab);
    slab.block = part / kParts;
    spread_scales<Layout>(p, slab);
  }
  turn_codes(staged, Layout::table(), slab.codes);
}

// How a type is read.
struct SlabReader {
  void (*stage)(const BlockColumns&, int64_t, BlockSlab&) = nullptr;
  bool minimum = false;
};
inline SlabReader slab_reader(DType dtype) {
  return blocks::with_layout(dtype, []<class Layout>() { return SlabReader{&stage_slab<Layout>, Layout::kMinimum}; });
}

// f(k, v, weights) for every step k and vector v of the slab's columns, in the order of k.
template <bool kMinimum, class F>
HWY_INLINE void for_each_step(const BlockSlab& slab, F f) {
  const DF d;
  const int64_t lanes = vector_lanes(), stride = slab_stride();
  for (int half = 0; half < 2; ++half) {
    VF scale[2], minimum[2];
    const uint8_t* codes[2];
    for (int v = 0; v < 2; ++v) {
      scale[v] = hn::Load(d, slab.scale[half] + v * lanes);
      if constexpr (kMinimum) minimum[v] = hn::Load(d, slab.minimum[half] + v * lanes);
      codes[v] = slab.codes + line_offset(v) + 16 * half;
    }
    for (int j = 0; j < 16; ++j) {
      for (int v = 0; v < 2; ++v) {
        VF w = hn::Mul(scale[v], LoadI8::load(reinterpret_cast<const int8_t*>(codes[v] + j * stride)));
        if constexpr (kMinimum) w = hn::Sub(w, minimum[v]);
        f(16 * half + j, v, w);
      }
    }
  }
}

// sums[r][n] += a[r * kGemmAStride + k] B[n, k], k after k: chains go on where the slab before left them.
template <int kRows, bool kMinimum>
HWY_NOINLINE void slab_product(const BlockSlab& slab, const float* HWY_RESTRICT a, float* HWY_RESTRICT sums) {
  const DF d;
  const int64_t lanes = vector_lanes();
  VF sum[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < 2; ++v) sum[r][v] = hn::Load(d, sums + (2 * r + v) * lanes);
  }
  for_each_step<kMinimum>(slab, [&](int k, int v, VF w) HWY_ATTR {
    for (int r = 0; r < kRows; ++r) sum[r][v] = hn::MulAdd(hn::Set(d, a[r * kGemmAStride + k]), w, sum[r][v]);
  });
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < 2; ++v) hn::Store(sum[r][v], d, sums + (2 * r + v) * lanes);
  }
}

using SlabProduct = void (*)(const BlockSlab&, const float*, float*);
template <bool kMinimum>
SlabProduct slab_product_of(int64_t rows) {
  if (rows == 1) return &slab_product<1, kMinimum>;
  if (rows == 2) return &slab_product<2, kMinimum>;
  return rows <= 4 ? &slab_product<4, kMinimum> : &slab_product<kSlabRows, kMinimum>;
}

// The slab as out[k * width + n]; width: one or two vectors.
template <bool kMinimum>
HWY_NOINLINE void write_slab(const BlockSlab& slab, int64_t width, float* out) {
  const DF d;
  const int64_t lanes = vector_lanes();
  for_each_step<kMinimum>(slab, [&](int k, int v, VF w) HWY_ATTR {
    if (v * lanes < width) hn::StoreU(w, d, out + k * width + v * lanes);
  });
}

// Steps [k0, k0 + depth), multiples of 32, of a panel as out[(k - k0) * width + n].
HWY_INLINE void decode_panel(SlabReader reader, const BlockColumns& columns, int64_t k0, int64_t depth, int64_t width,
                             float* out) {
  BlockSlab slab;
  for (int64_t k = 0; k < depth; k += kSlab, out += kSlab * width) {
    reader.stage(columns, (k0 + k) / kSlab, slab);
    reader.minimum ? write_slab<true>(slab, width, out) : write_slab<false>(slab, width, out);
  }
}

// c[r * ldc + n] (= or +=) sum over [k0, k0 + depth) of A and one panel of B, for at most kSlabRows rows of packed A
// (those missing up to kSlabRows are read).
HWY_INLINE void slabs_product(SlabReader reader, const BlockColumns& columns, int64_t rows, int64_t k0, int64_t depth,
                              const float* a, float* c, int64_t ldc, bool add) {
  const DF d;
  const int64_t lanes = vector_lanes();
  const SlabProduct product = reader.minimum ? slab_product_of<true>(rows) : slab_product_of<false>(rows);
  HWY_ALIGN float sums[kSlabRows * kGemmNrMax] = {};
  BlockSlab slab;
  for (int64_t k = 0; k < depth; k += kSlab) {
    reader.stage(columns, (k0 + k) / kSlab, slab);
    product(slab, a + k, sums);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < 2; ++v) {
      float* p = c + r * ldc + v * lanes;
      const VF sum = hn::Load(d, sums + (2 * r + v) * lanes);
      hn::StoreU(add ? hn::Add(hn::LoadU(d, p), sum) : sum, d, p);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
