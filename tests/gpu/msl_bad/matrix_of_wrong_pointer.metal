// refused: no matching
kernel void k(device float* y [[buffer(0)]], device const half* h [[buffer(1)]]) {
  simdgroup_matrix<float, 8, 8> m;
  simdgroup_load(m, h, 8ul);
  simdgroup_store(m, y, 8ul);
}
