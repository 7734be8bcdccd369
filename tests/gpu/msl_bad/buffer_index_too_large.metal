// refused: above 30
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(31)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = x[i];
}
