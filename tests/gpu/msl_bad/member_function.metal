// refused: member function
struct S {
  float v;
  float twice() const { return v * 2.0f; }
};
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  S s;
  s.v = x[i];
  y[i] = s.twice();
}
