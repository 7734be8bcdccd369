// refused: virtual
struct A {
  virtual float f() { return 1.0f; }
};
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  A a;
  y[i] = a.f();
}
