// refused: no address space|changes address space
template <class T>
static inline void set(T& v) {
  v = T(1);
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  float v = 0.0f;
  set(v);
  y[i] = v;
}
