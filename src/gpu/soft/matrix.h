// 8x8 simdgroup matrices of the software GPU. Included by dialect_soft.h only, which defines the mode.
#pragma once

namespace CHIARO_GPU_MATRIX_MODE {

template <class T>
struct SimdMatrix {
  T v[2];  // lane l holds row l / 4, columns l % 4 * 2 and the next
};
inline uint32_t gpu_fragment(uint32_t row_elements) {
  const uint32_t lane = chiaro::gpu::soft::t_state->tid % 32u;
  return lane / 4u * row_elements + lane % 4u * 2u;
}
template <class T, class P>
void simdgroup_load(SimdMatrix<T>& m, const P& p, uint32_t row_elements GPU_WHERE) {
  chiaro::gpu::soft::simd_matrix_access(CHIARO_GPU_HERE);
  const uint32_t at = gpu_fragment(row_elements);
  m.v[0] = T(p[GPU_AT(at)]);
  m.v[1] = T(p[GPU_AT(at + 1u)]);
}
template <class T, class P>
void simdgroup_store(const SimdMatrix<T>& m, const P& p, uint32_t row_elements GPU_WHERE) {
  chiaro::gpu::soft::simd_matrix_access(CHIARO_GPU_HERE);
  const uint32_t at = gpu_fragment(row_elements);
  p[GPU_AT(at)] = m.v[0];
  p[GPU_AT(at + 1u)] = m.v[1];
}
template <class T>
void simdgroup_multiply_accumulate(SimdMatrix<float>& d, const SimdMatrix<T>& a, const SimdMatrix<T>& b,
                                   const SimdMatrix<float>& c GPU_WHERE) {
  const float fa[2] = {float(a.v[0]), float(a.v[1])}, fb[2] = {float(b.v[0]), float(b.v[1])};
  chiaro::gpu::soft::simd_matrix_product({fa, fb, c.v, d.v}, CHIARO_GPU_HERE);
}

}  // namespace CHIARO_GPU_MATRIX_MODE

#define SIMD_MATRIX(T) ::CHIARO_GPU_MATRIX_MODE::SimdMatrix<T>
#define SIMD_MATRIX_ZERO(T) (::CHIARO_GPU_MATRIX_MODE::SimdMatrix<T>{{T(0.0f), T(0.0f)}})
using namespace CHIARO_GPU_MATRIX_MODE;
