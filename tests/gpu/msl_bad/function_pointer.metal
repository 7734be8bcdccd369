// refused: function pointer|pointers to functions
static inline float g(float v) {
  return v;
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  float (*f)(float) = g;
  y[i] = f(x[i]);
}
