// 8x8 matrices through threadgroup memory, half operands and a float sum.
kernel void k(device float* y [[buffer(0)]], device const half* x [[buffer(1)]], uint i [[thread_index_in_threadgroup]]) {
  threadgroup half t[64];
  if (i < 64u) t[i] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_matrix<half, 8, 8> a;
  simdgroup_matrix<float, 8, 8> c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  simdgroup_load(a, t, 8u);
  simdgroup_multiply_accumulate(c, a, a, c);
  simdgroup_store(c, y, 8u);
}
