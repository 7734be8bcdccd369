// One row is multiplied by two panels at once, so that four chains of multiply-adds hide each other's latency; more
// rows have chains of their own. Bytes: B once, prefetched; A from L1 and L2.
#include "ops/cpu_blocks/gemm_few.h"

#include <utility>

#include "ops/cpu_blocks/gemm_shape.h"
#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/gemm_few.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/block_panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

inline constexpr int64_t kAhead = 2048;  // bytes of a panel between what is multiplied and what is prefetched
inline constexpr int kMostPanels = 2;

// One block of the sum over k: panels side by side, from its first step on; sums go to c.
struct FewTile {
  const std::byte* panel[kMostPanels];
  const BlockScales* scales;  // [panels], of blocks
  int64_t depth = 0;
  const float* a = nullptr;
  float* c = nullptr;
  bool add = false;
};

// Sums of one row; of several. Not arrays with loops over them: gcc would keep those in memory.
template <int... kVec>
struct RowSums {
  VF v[sizeof...(kVec)];
  HWY_INLINE RowSums() { ((v[kVec] = hn::Zero(DF())), ...); }
  HWY_INLINE void add(VF a, const VF (&weights)[sizeof...(kVec)]) {
    ((v[kVec] = hn::MulAdd(a, weights[kVec], v[kVec])), ...);
  }
  HWY_INLINE void store(float* c, bool add) const { (store_one(v[kVec], c + kVec * vector_lanes(), add), ...); }

 private:
  static HWY_INLINE void store_one(VF sum, float* p, bool add) {
    const DF d;
    hn::StoreU(add ? hn::Add(hn::LoadU(d, p), sum) : sum, d, p);
  }
};
template <class Row, int... kRow>
struct TileSums {
  Row row[sizeof...(kRow)];
  // Written out: GCC gives constructors that it makes itself the command line's target, and refuses to inline Row's.
  HWY_INLINE TileSums() {}  // NOLINT(modernize-use-equals-default)
  // The products of step k, `a` at its column of A.
  template <size_t kVecs>
  HWY_INLINE void add(const float* a, const VF (&weights)[kVecs]) {
    (row[kRow].add(hn::Set(DF(), a[kRow * kGemmAStride]), weights), ...);
  }
  HWY_INLINE void store(float* c, bool add) const { (row[kRow].store(c + kRow * kGemmAccStride, add), ...); }
};
template <int... kVec>
RowSums<kVec...> row_sums_of(std::integer_sequence<int, kVec...>);
template <class Row, int... kRow>
TileSums<Row, kRow...> tile_sums_of(std::integer_sequence<int, kRow...>);
template <int kRows, int kVecs>
using Sums = decltype(tile_sums_of<decltype(row_sums_of(std::make_integer_sequence<int, kVecs>()))>(
    std::make_integer_sequence<int, kRows>()));

// Whether vector v of panels side by side is the first of its cache line.
template <class Raw>
constexpr bool begins_line(int v) {
  return v % 2 == 0 || hn::MaxLanes(DF()) * sizeof(Raw) >= 64;
}

// Panels of a plain type; where kVecs is 1, the half of one that begins at `column`.
template <class L, int kRows, int kVecs>
HWY_INLINE void plain_columns(const FewTile& tile, int64_t column) {
  using Raw = typename L::Raw;
  const int64_t lanes = vector_lanes(), width = panel_width();
  Sums<kRows, kVecs> sums;
  const Raw* from[kVecs];
  for (int v = 0; v < kVecs; ++v) {
    from[v] = reinterpret_cast<const Raw*>(tile.panel[v / 2]) + v % 2 * lanes + column;
  }
  for (int64_t k = 0; k < tile.depth; ++k) {
    VF weights[kVecs];
    for (int v = 0; v < kVecs; ++v) {
      if (begins_line<Raw>(v)) hwy::Prefetch(reinterpret_cast<const std::byte*>(from[v] + k * width) + kAhead);
      weights[v] = L::load(from[v] + k * width);
    }
    sums.add(tile.a + k, weights);
  }
  sums.store(tile.c + column, tile.add);
}
template <class L, int kRows, int kVecs>
HWY_NOINLINE void plain_product(const FewTile& tile) {
  plain_columns<L, kRows, kVecs>(tile, 0);
  if constexpr (kVecs == 1) plain_columns<L, kRows, kVecs>(tile, vector_lanes());
}

template <class C, int kCode, class S, int kVecs>
HWY_INLINE void code_step(const CodeWord<C> (&words)[kVecs], const VF (&scale)[kVecs], const VF (&minimum)[kVecs],
                          const float* a, S& sums) {
  VF weights[kVecs];
  for (int v = 0; v < kVecs; ++v) weights[v] = scaled<C>(code_number<C, kCode>(words[v]), scale[v], minimum[v]);
  sums.add(a + kCode, weights);
}

template <class C, class S, int kVecs, int... kCode>
HWY_INLINE void word_steps(const CodeWord<C> (&words)[kVecs], const VF (&scale)[kVecs], const VF (&minimum)[kVecs],
                           const float* a, S& sums, std::integer_sequence<int, kCode...>) {
  (code_step<C, kCode>(words, scale, minimum, a, sums), ...);
}

// Panels of blocks, whose codes begin at tile.panel; the rest as above.
template <class C, int kRows, int kVecs>
HWY_INLINE void code_columns(const FewTile& tile, int64_t column) {
  const DF d;
  const int64_t lanes = vector_lanes(), width = panel_width();
  Sums<kRows, kVecs> sums;
  const uint32_t* codes[kVecs];
  for (int v = 0; v < kVecs; ++v) {
    codes[v] = reinterpret_cast<const uint32_t*>(tile.panel[v / 2]) + v % 2 * lanes + column;
  }
  const float* a = tile.a;
  for (int64_t part = 0; part < tile.depth / kPart; ++part) {
    for (int w = 0; w < C::kWords; ++w, a += C::kPerWord) {
      CodeWord<C> words[kVecs];
      VF scale[kVecs], minimum[kVecs];
      for (int v = 0; v < kVecs; ++v) {
        const uint32_t* from = codes[v] + part * C::kLines * width;
        if (begins_line<uint32_t>(v)) hwy::Prefetch(reinterpret_cast<const std::byte*>(from + w * width) + kAhead);
        words[v] = load_word_of<C>(from, width, w);
        const int64_t at = (part * C::kGroups + w * C::kGroups / C::kWords) * width + v % 2 * lanes + column;
        scale[v] = hn::Load(d, tile.scales[v / 2].scale + at);
        minimum[v] = hn::Zero(d);
        if constexpr (C::kMinimum) minimum[v] = hn::Load(d, tile.scales[v / 2].minimum + at);
      }
      word_steps<C>(words, scale, minimum, a, sums, std::make_integer_sequence<int, C::kPerWord>());
    }
  }
  sums.store(tile.c + column, tile.add);
}
template <class C, int kRows, int kVecs>
HWY_NOINLINE void code_product(const FewTile& tile) {
  code_columns<C, kRows, kVecs>(tile, 0);
  if constexpr (kVecs == 1) code_columns<C, kRows, kVecs>(tile, vector_lanes());
}

// Kernels for one row, two, four and eight; eight by half panels where registers do not suffice for whole ones. Up to
// two rows take two panels.
using FewProduct = void (*)(const FewTile&);
inline constexpr int kEightRowsVecs = kMr >= 12 ? 2 : 1;

template <class L>
FewProduct plain_product_of(int64_t rows) {
  if (rows == 1) return &plain_product<L, 1, 4>;
  if (rows == 2) return &plain_product<L, 2, 4>;
  return rows <= 4 ? &plain_product<L, 4, 2> : &plain_product<L, 8, kEightRowsVecs>;
}
template <class C>
FewProduct code_product_of(int64_t rows) {
  if (rows == 1) return &code_product<C, 1, 4>;
  if (rows == 2) return &code_product<C, 2, 4>;
  return rows <= 4 ? &code_product<C, 4, 2> : &code_product<C, 8, kEightRowsVecs>;
}
FewProduct few_product(DType dtype, int64_t rows) {
  switch (dtype) {
    case DType::f32: return plain_product_of<LoadF32>(rows);
    case DType::f16: return plain_product_of<LoadF16>(rows);
    case DType::bf16: return plain_product_of<LoadBf16>(rows);
    case DType::f8_e4m3: return plain_product_of<LoadE4m3>(rows);
    case DType::f8_e5m2: return plain_product_of<LoadE5m2>(rows);
    case DType::i8: return plain_product_of<LoadI8>(rows);
    default:
      return blocks::with_layout(dtype, [rows]<class Layout>() { return code_product_of<CodesOf<Layout>>(rows); });
  }
}

// Columns [n, n + panels * panel_width()) along all of k.
void few_panels(const GemmFew& few, FewProduct product, int64_t n, int panels, float* sums) {
  const int64_t width = panel_width(), column_bytes = gemm_column_bytes(few.dtype, few.k);
  const bool of_blocks = is_block(few.dtype);
  const BlockReader reader = of_blocks ? block_reader(few.dtype) : BlockReader{};
  const int64_t codes = of_blocks ? few.k / kPart * reader.part_bytes * width : 0;
  const int64_t part_bytes = of_blocks ? reader.part_bytes * width : 0;
  BlockScales scales[kMostPanels];
  FewTile tile;
  tile.scales = scales;
  tile.c = sums;
  for (int64_t k = 0; k < few.k; k += few.kc) {
    tile.depth = std::min(few.kc, few.k - k);
    tile.a = few.a + k / few.kc * few.row_slots * kGemmAStride;
    tile.add = k != 0;
    for (int i = 0; i < panels; ++i) {
      const std::byte* panel = few.panels + (n + i * width) * column_bytes;
      if (!of_blocks) {
        tile.panel[i] = panel + k * width * unit_bytes(few.dtype);
        continue;
      }
      tile.panel[i] = panel + k / kPart * part_bytes;
      reader.spread(reinterpret_cast<const uint8_t*>(panel + codes), width, k / kPart, tile.depth / kPart, scales[i]);
      // Those of the next block: read at once, they would be waited for.
      const std::byte* next = panel + codes + (k + tile.depth) / kPart / reader.parts * reader.scale_bytes * width;
      const int64_t ahead = (tile.depth / kPart / reader.parts + 1) * reader.scale_bytes * width;
      for (int64_t at = 0; at < ahead; at += 64) hwy::Prefetch(next + at);
    }
    product(tile);
  }
}

void few_columns(const GemmFew& few, int64_t n0, int64_t columns, float* sums, float* stage) {
  const FewProduct product = few_product(few.dtype, few.rows);
  const int64_t width = panel_width(), column_bytes = gemm_column_bytes(few.dtype, few.k);
  const int panels = few.rows <= 2 ? kMostPanels : 1;
  for (int64_t n = 0; n < columns;) {
    const int64_t left = columns - n;
    if (panel_columns(left - (panels - 1) * width) == width) {
      few_panels(few, product, n0 + n, panels, sums + n);
      n += panels * width;
      continue;
    }
    // The end of a matrix: what is not enough panels, or not a whole one.
    const int64_t last = panel_columns(left);
    for (int64_t k = 0; k < few.k; k += few.kc) {
      const int64_t depth = std::min(few.kc, few.k - k);
      const std::byte* panel = few.panels + (n0 + n) * column_bytes;
      const float* b = panel_steps(few.dtype, panel, last, few.k, k, depth, stage);
      const float* a = few.a + k / few.kc * few.row_slots * kGemmAStride;
      const auto same = [b](int64_t, int64_t) HWY_ATTR { return b; };
      panels_product(few.rows, last, depth, a, same, sums + n, kGemmAccStride, k != 0);
    }
    n += last;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(few_columns);

int64_t gemm_few_row_slots(int64_t rows) {
  return rows <= 2 ? rows : rows <= 4 ? 4 : kGemmFew;
}

void gemm_few_columns(const GemmFew& few, int64_t n0, int64_t columns, float* sums, float* stage) {
  HWY_DYNAMIC_DISPATCH(few_columns)(few, n0, columns, sums, stage);
}

}  // namespace chiaro
#endif
