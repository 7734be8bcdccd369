// refused: no address space|changes address space
static inline float first(const float* p) {
  return p[0];
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = first(x);
}
