// refused: no address space|address space
struct Row {
  const float* p;
};
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  Row r = {x};
  y[i] = r.p[0];
}
