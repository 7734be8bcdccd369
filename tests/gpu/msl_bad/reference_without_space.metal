// refused: no address space|changes address space
static inline void set(float& v) {
  v = 1.0f;
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  float v = x[i];
  set(v);
  y[i] = v;
}
