// refused: derived class
struct A {
  float u;
};
struct B : A {
  float v;
};
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  B b;
  b.u = x[i];
  b.v = b.u;
  y[i] = b.v;
}
