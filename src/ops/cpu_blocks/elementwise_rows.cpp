// Row arithmetic, compiled once per instruction set.
#include "ops/cpu_blocks/elementwise_rows.h"

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/elementwise_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

struct IoF32 : LoadF32, StoreF32 {
  using Raw = float;
  using Stream = StreamF32;
};
struct IoF16 : LoadF16, StoreF16 {
  using Raw = uint16_t;
  using Stream = StreamF16;
};
struct IoBf16 : LoadBf16, StoreBf16 {
  using Raw = uint16_t;
  using Stream = StreamBf16;
};

// The end of a row, filled up with its first element, so that padding raises no flag that no element raises.
template <class Raw>
struct Padded {
  HWY_INLINE Padded(const Raw* from, size_t count) {
    for (size_t j = count; j < hn::MaxLanes(DF()); ++j) lane[j] = from[0];
    std::memcpy(lane, from, count * sizeof(Raw));
  }
  HWY_ALIGN Raw lane[hn::MaxLanes(DF())];
};

// f(VF...) -> VF on rows of Io, converted in registers and stored as Out does. The tail runs on padded vectors.
template <class Io, class Out, class F, class... In>
HWY_INLINE void zip_rows(typename Io::Raw* out, size_t n, F f, const In*... in) {
  using Raw = typename Io::Raw;
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF low = f(Io::load(in + i)...);
    const VF high = f(Io::load(in + i + lanes)...);
    Out::store(low, out + i);
    Out::store(high, out + i + lanes);
  }
  for (; i < n; i += lanes) {
    const size_t count = n - i < lanes ? n - i : lanes;
    const VF y = f(Io::load(Padded<Raw>(in + i, count).lane)...);
    HWY_ALIGN Raw tail[hn::MaxLanes(d)];
    Io::store(y, tail);
    std::memcpy(out + i, tail, count * sizeof(Raw));
  }
}

template <class Io, class F, class... In>
HWY_INLINE void zip_io(bool streams, void* out, size_t n, F f, const In*... in) {
  using Raw = typename Io::Raw;
  if (streams) return zip_rows<Io, typename Io::Stream>(static_cast<Raw*>(out), n, f, static_cast<const Raw*>(in)...);
  zip_rows<Io, Io>(static_cast<Raw*>(out), n, f, static_cast<const Raw*>(in)...);
}

template <class F, class... In>
HWY_INLINE void zip_dtype(RowFormat format, void* out, size_t n, F f, const In*... in) {
  switch (format.dtype) {
    case DType::f32: return zip_io<IoF32>(format.streams, out, n, f, in...);
    case DType::f16: return zip_io<IoF16>(format.streams, out, n, f, in...);
    case DType::bf16: return zip_io<IoBf16>(format.streams, out, n, f, in...);
    default: return;
  }
}

// with_activation(), of rows of a dtype.
template <class Visit>
HWY_INLINE void with_activation_of(Activation function, DType dtype, const Visit& visit) {
  if (function == Activation::silu && dtype == DType::f16) return visit(SiluF16Vector{});
  with_activation(function, visit);
}

void binary(BinaryFunction function, RowFormat format, const void* a, const void* b, void* out, size_t n) {
  switch (function) {
    case BinaryFunction::plus:
      return zip_dtype(
          format, out, n, [](VF x, VF y) HWY_ATTR { return hn::Add(x, y); }, a, b);
    case BinaryFunction::minus:
      return zip_dtype(
          format, out, n, [](VF x, VF y) HWY_ATTR { return hn::Sub(x, y); }, a, b);
    case BinaryFunction::times:
      return zip_dtype(
          format, out, n, [](VF x, VF y) HWY_ATTR { return hn::Mul(x, y); }, a, b);
    case BinaryFunction::over:
      return zip_dtype(
          format, out, n, [](VF x, VF y) HWY_ATTR { return hn::Div(x, y); }, a, b);
  }
}

void affine(RowFormat format, const void* x, float factor, float offset, void* out, size_t n) {
  const auto f = [=](VF v) HWY_ATTR { return hn::MulAdd(v, hn::Set(DF(), factor), hn::Set(DF(), offset)); };
  zip_dtype(format, out, n, f, x);
}

void activation(Activation function, RowFormat format, const void* x, void* out, size_t n) {
  with_activation_of(function, format.dtype, [=](auto f) HWY_ATTR { zip_dtype(format, out, n, f, x); });
}

void gated(Activation function, RowFormat format, const void* gate, const void* value, void* out, size_t n) {
  with_activation_of(function, format.dtype, [=](auto f) HWY_ATTR {
    zip_dtype(
        format, out, n, [f](VF g, VF v) HWY_ATTR { return hn::Mul(f(g), v); }, gate, value);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(binary);
HWY_EXPORT(affine);
HWY_EXPORT(activation);
HWY_EXPORT(gated);

void binary_row(BinaryFunction function, RowFormat format, const void* a, const void* b, void* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(binary)(function, format, a, b, out, n);
}
void affine_row(RowFormat format, const void* x, float factor, float offset, void* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(affine)(format, x, factor, offset, out, n);
}
void activation_row(Activation function, RowFormat format, const void* x, void* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(activation)(function, format, x, out, n);
}
void gated_row(Activation function, RowFormat format, const void* gate, const void* value, void* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(gated)(function, format, gate, value, out, n);
}

}  // namespace chiaro
#endif
