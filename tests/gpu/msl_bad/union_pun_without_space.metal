// refused: address space
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  float v = x[i];
  uint u = *(threadgroup uint*)&v;
  y[i] = float(u);
}
