// refused: sign|comparison
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  for (int j = 0; j < n; ++j) y[i] += x[j];
}
