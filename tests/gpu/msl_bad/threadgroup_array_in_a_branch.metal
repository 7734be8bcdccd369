// refused: threadgroup array|local
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  if (n > 3u) {
    threadgroup float t[32];
    t[i] = x[i];
    y[i] = t[i];
  }
}
