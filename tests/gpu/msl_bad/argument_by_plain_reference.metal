// refused: no address space|address space
struct Args {
  float scale;
};
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], const Args& a [[buffer(2)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = a.scale * x[i];
}
