// refused: recursion|forward
static inline bool odd(uint n);
static inline bool even(uint n) {
  return n == 0u || odd(n - 1u);
}
static inline bool odd(uint n) {
  return n != 0u && even(n - 1u);
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = float(even(n) ? 1u : 0u);
}
