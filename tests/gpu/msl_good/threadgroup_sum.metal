// A reduction through threadgroup memory, with the array handed to a helper.
static inline float sum(threadgroup float* t, uint i, uint n) {
  for (uint s = n / 2u; s > 0u; s /= 2u) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < s) t[i] += t[i + s];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  return t[0];
}
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  threadgroup float t[256];
  t[i] = i < n ? float(x[i]) : 0.0f;
  const float s = sum(t, i, 256u);
  if (i == 0u) y[0] = s;
}
