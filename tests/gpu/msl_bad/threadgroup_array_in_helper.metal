// refused: threadgroup array|local|address space
static inline float f(uint i) {
  threadgroup float t[32];
  t[i] = 1.0f;
  return t[i];
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = f(i);
}
