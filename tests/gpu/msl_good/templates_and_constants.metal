// Templates over types, a struct by value, constants, references with their space.
constant constexpr uint kWidth = 4u;
struct Pair {
  float a, b;
};
struct Simd {};
struct Shared {};
static inline float total(Simd, float v) {
  return simd_sum(v);
}
static inline float total(Shared, float v) {
  return v;
}
template <class Way>
static inline Pair pair(Way way, device const float* x, thread uint& count, uint i) {
  Pair p;
  p.a = total(way, x[i]);
  p.b = as_type<float>(as_type<uint>(p.a) ^ 1u);
  count += kWidth;
  return p;
}
kernel void k(device float4* y [[buffer(0)]], device const float* x [[buffer(1)]], uint i [[thread_index_in_threadgroup]]) {
  uint count = 0u;
  const Pair p = pair(Simd(), x, count, i);
  const Pair q = pair(Shared(), x, count, i);
  float4 r = {p.a, p.b, q.a, float(count)};
  y[i] = r * 2.0f;
}
