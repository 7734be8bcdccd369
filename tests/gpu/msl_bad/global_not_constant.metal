// refused: global|address space|constant
static const float table[2] = {1.0f, 2.0f};
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = table[i & 1u];
}
