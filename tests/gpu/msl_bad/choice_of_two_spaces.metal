// refused: address space|incompatible|different
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  threadgroup float t[32];
  t[i] = 1.0f;
  device float* p = i > 3u ? y : t;
  p[0] = 2.0f;
}
