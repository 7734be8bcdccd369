// refused: no matching|ambiguous
kernel void k(device float* y [[buffer(0)]], device const half4* h [[buffer(1)]], uint i [[thread_index_in_threadgroup]]) {
  const half4 v = simd_sum(h[i]);
  y[i] = float(v.x);
}
