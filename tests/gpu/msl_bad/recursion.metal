// refused: recursion
static inline uint f(uint n) {
  return n < 2u ? 1u : n * f(n - 1u);
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = float(f(n));
}
