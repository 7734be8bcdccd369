// refused: does not match|no viable|cannot
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  const float v = simd_broadcast;
  y[i] = v;
}
