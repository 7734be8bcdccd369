// refused: no address space|address space
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  float v[2] = {1.0f, 2.0f};
  float* p = v;
  y[i] = p[0];
}
