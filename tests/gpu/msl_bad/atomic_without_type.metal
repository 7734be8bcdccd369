// refused: undeclared|unknown
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  atomic_fetch_add_explicit(y, 1.0f, memory_order_relaxed);
  y[i] = x[i];
}
