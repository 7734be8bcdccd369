// refused: cannot|incompatible|no viable|assigning
kernel void k(device half4* y [[buffer(0)]], device const float4* v [[buffer(1)]],
              uint i [[thread_index_in_threadgroup]]) {
  y[i] = v[i];
}
