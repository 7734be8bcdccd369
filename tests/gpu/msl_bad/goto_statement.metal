// refused: goto|label
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  if (i > n) goto end;
  y[i] = x[i];
  end:
  return;
}
