// refused: no matching|cannot|undeclared
static inline float4 make_float4(float a, float b, float c, float d) {
  float4 r = {a, b, c, d};
  return r;
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  const float4 v = make_float4(1.0f, 2.0f);
  y[i] = v.x;
}
