// refused: no matching function|address space
static inline float first(device const float* p) {
  return p[0];
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  threadgroup float t[32];
  t[i] = x[i];
  y[i] = first(t);
}
