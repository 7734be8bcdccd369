// refused: lambda
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  const auto f = [](float v) { return v * 2.0f; };
  y[i] = f(x[i]);
}
