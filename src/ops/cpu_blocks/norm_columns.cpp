// Column primitives of group_norm and of sums, compiled once per instruction set.
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/norm_columns.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/norm_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// kVectors vectors of columns are kept in registers while the rows go by; the last one may be partial (`part` lanes).
template <class Io, size_t kVectors>
HWY_INLINE void sum_block(const typename Io::Raw* x, size_t rows, size_t pitch, float* sums, size_t part) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF s[kVectors];
  for (size_t v = 0; v < kVectors; ++v) s[v] = hn::Zero(d);
  for (size_t r = 0; r < rows; ++r, x += pitch) {
    if (part > 0) {
      s[0] = hn::Add(s[0], load_part<Io>(x, part));
      continue;
    }
    for (size_t v = 0; v < kVectors; ++v) s[v] = hn::Add(s[v], Io::Load::load(x + v * lanes));
  }
  if (part > 0) return store_part<IoF32>(s[0], sums, part);
  for (size_t v = 0; v < kVectors; ++v) hn::StoreU(s[v], d, sums + v * lanes);
}

void sum_columns(const RowBlock& x, float* sums) {
  with_io(x.dtype, [&](auto io) HWY_ATTR {
    using Io = decltype(io);
    const auto* data = static_cast<const typename Io::Raw*>(x.data);
    const size_t lanes = hn::Lanes(DF());
    size_t c = 0;
    for (; c + 8 * lanes <= x.n; c += 8 * lanes) sum_block<Io, 8>(data + c, x.rows, x.pitch, sums + c, 0);
    for (; c + lanes <= x.n; c += lanes) sum_block<Io, 1>(data + c, x.rows, x.pitch, sums + c, 0);
    if (c < x.n) sum_block<Io, 1>(data + c, x.rows, x.pitch, sums + c, x.n - c);
  });
}

template <class Io, size_t kVectors>
HWY_INLINE void moment_block(const typename Io::Raw* x, size_t rows, size_t pitch, const float* center, float* s1,
                             float* s2) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF mid[kVectors], a[kVectors], b[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    mid[v] = hn::LoadU(d, center + v * lanes);
    a[v] = hn::Zero(d);
    b[v] = hn::Zero(d);
  }
  for (size_t r = 0; r < rows; ++r, x += pitch) {
    for (size_t v = 0; v < kVectors; ++v) {
      const VF e = hn::Sub(Io::Load::load(x + v * lanes), mid[v]);
      a[v] = hn::Add(a[v], e);
      b[v] = hn::MulAdd(e, e, b[v]);
    }
  }
  for (size_t v = 0; v < kVectors; ++v) {
    hn::StoreU(a[v], d, s1 + v * lanes);
    hn::StoreU(b[v], d, s2 + v * lanes);
  }
}

template <class Io>
HWY_INLINE void moment_part(const typename Io::Raw* x, size_t rows, size_t pitch, const float* center, float* s1,
                            float* s2, size_t part) {
  const DF d;
  const VF mid = load_part<IoF32>(center, part);
  VF a = hn::Zero(d), b = hn::Zero(d);
  for (size_t r = 0; r < rows; ++r, x += pitch) {
    const VF e = hn::Sub(load_part<Io>(x, part), mid);
    a = hn::Add(a, e);
    b = hn::MulAdd(e, e, b);
  }
  store_part<IoF32>(a, s1, part);
  store_part<IoF32>(b, s2, part);
}

void moment_columns(const RowBlock& x, const float* center, float* s1, float* s2) {
  with_io(x.dtype, [&](auto io) HWY_ATTR {
    using Io = decltype(io);
    const auto* data = static_cast<const typename Io::Raw*>(x.data);
    const size_t lanes = hn::Lanes(DF());
    size_t c = 0;
    for (; c + 4 * lanes <= x.n; c += 4 * lanes) {
      moment_block<Io, 4>(data + c, x.rows, x.pitch, center + c, s1 + c, s2 + c);
    }
    for (; c + lanes <= x.n; c += lanes) moment_block<Io, 1>(data + c, x.rows, x.pitch, center + c, s1 + c, s2 + c);
    if (c < x.n) moment_part<Io>(data + c, x.rows, x.pitch, center + c, s1 + c, s2 + c, x.n - c);
  });
}

template <class Io, class Out, class Act>
HWY_INLINE void affine_block(const RowBlock& x, const ColumnAffine& affine, typename Io::Raw* y, size_t y_pitch,
                             Act act) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const auto* in = static_cast<const typename Io::Raw*>(x.data);
  const auto f = [&](VF v, VF c, VF s, VF t) HWY_ATTR { return act(hn::MulAdd(hn::Sub(v, c), s, t)); };
  const auto column = [&](const typename Io::Raw* from, size_t i) HWY_ATTR {
    return f(Io::Load::load(from + i), hn::LoadU(d, affine.center + i), hn::LoadU(d, affine.scale + i),
             hn::LoadU(d, affine.shift + i));
  };
  for (size_t r = 0; r < x.rows; ++r, in += x.pitch, y += y_pitch) {
    size_t i = 0;
    // Two vectors of f16 are a cache line: stored one after the other, they leave together where they stream.
    for (; i + 2 * lanes <= x.n; i += 2 * lanes) {
      const VF low = column(in, i), high = column(in, i + lanes);
      Out::store(low, y + i);
      Out::store(high, y + i + lanes);
    }
    for (; i + lanes <= x.n; i += lanes) Out::store(column(in, i), y + i);
    if (i == x.n) continue;
    const size_t part = x.n - i;
    store_part<Io>(f(load_part<Io>(in + i, part), load_part<IoF32>(affine.center + i, part),
                     load_part<IoF32>(affine.scale + i, part), load_part<IoF32>(affine.shift + i, part)),
                   y + i, part);
  }
}

void affine_any(const RowBlock& x, const ColumnAffine& affine, void* y, size_t y_pitch) {
  with_io(x.dtype, [&](auto io) HWY_ATTR {
    using Io = decltype(io);
    auto* out = static_cast<typename Io::Raw*>(y);
    const auto block = [&](auto act) HWY_ATTR {
      if (affine.streams) return affine_block<Io, typename Io::Stream>(x, affine, out, y_pitch, act);
      affine_block<Io, typename Io::Store>(x, affine, out, y_pitch, act);
    };
    if (affine.act == Activation::silu) {
      block([](VF v) HWY_ATTR { return silu_of<Io>(v); });
    } else {
      block([](VF v) HWY_ATTR { return v; });
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(sum_columns);
HWY_EXPORT(moment_columns);
HWY_EXPORT(affine_any);

void column_sums(const RowBlock& x, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_columns)(x, sums);
}
void column_moments(const RowBlock& x, const float* center, float* s1, float* s2) {
  HWY_DYNAMIC_DISPATCH(moment_columns)(x, center, s1, s2);
}
void affine_rows(const RowBlock& x, const ColumnAffine& affine, void* y, size_t y_pitch) {
  HWY_DYNAMIC_DISPATCH(affine_any)(x, affine, y, y_pitch);
}

}  // namespace chiaro
#endif
