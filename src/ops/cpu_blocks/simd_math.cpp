// The vector functions, compiled once per instruction set.
#include "ops/cpu_blocks/simd_math.h"

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/simd_math.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

void exp_row(const float* in, float* out, size_t n) {
  map_f32(in, out, n, [](VF x) HWY_ATTR { return exp_f32(x); });
}
void erf_row(const float* in, float* out, size_t n) {
  map_f32(in, out, n, [](VF x) HWY_ATTR { return erf_f32(x); });
}
void tanh_row(const float* in, float* out, size_t n) {
  map_f32(in, out, n, [](VF x) HWY_ATTR { return tanh_f32(x); });
}
void activation_row(Activation activation, const float* in, float* out, size_t n) {
  activate_row(activation, in, out, n);
}
void decode(DType dtype, const void* source, int64_t stride, size_t n, float* out) {
  load_row(dtype, source, stride, n, out);
}
void encode(DType dtype, const float* in, size_t n, void* target, int64_t stride) {
  store_row(dtype, in, n, target, stride);
}
const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(exp_row);
HWY_EXPORT(erf_row);
HWY_EXPORT(tanh_row);
HWY_EXPORT(activation_row);
HWY_EXPORT(decode);
HWY_EXPORT(encode);
HWY_EXPORT(target_name);

void map_activation(Activation activation, const float* in, float* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(activation_row)(activation, in, out, n);
}
void map_exp(const float* in, float* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(exp_row)(in, out, n);
}
void map_erf(const float* in, float* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(erf_row)(in, out, n);
}
void map_tanh(const float* in, float* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(tanh_row)(in, out, n);
}
void decode_row(DType dtype, const void* source, int64_t stride, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(decode)(dtype, source, stride, n, out);
}
void encode_row(DType dtype, const float* in, size_t n, void* target, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(encode)(dtype, in, n, target, stride);
}
const char* simd_target_name() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace chiaro
#endif
