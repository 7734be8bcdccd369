#include "ops/gpu_kernel.h"
#include "ops/group_norm/gpu_args.h"
#include "ops/group_norm/op.h"

namespace chiaro {
namespace {

// Elements of a group that one threadgroup sums up; a larger group is cut into chunks of half as many.
constexpr int64_t kWholeGroup = 32768;

// The positions of one picture: what lies between the batch and the channels.
TensorDesc positions_of(const TensorDesc& desc) {
  TensorDesc inner;
  inner.dtype = desc.dtype;
  for (int d = 1; d < desc.rank() - 1; ++d) {
    inner.shape.push_back(desc.shape[d]);
    inner.strides.push_back(desc.strides[d]);
  }
  return inner;
}

// f32, f16 and bf16 at any strides; parameters of any plain float type; also in place.
struct GroupNormGpu : GpuKernel<GroupNormGpu, GroupNorm> {
  static constexpr std::string_view name = "gpu.group_norm";

  static Result<GroupNormGpuArgs> arguments(const TypedCall<GroupNorm>& call) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    for (int i : {1, 2}) {
      if (call.has(i) && !gpu_loadable(call.in(i).dtype)) {
        return kernel_refusal(name, call.in(i).text(), "parameters of a plain float type");
      }
    }
    CHIARO_TRY(gpu_offsets_fit(name, x));
    CHIARO_TRY(gpu_offsets_fit(name, y));
    GroupNormGpuArgs a{};
    CHIARO_ASSIGN(a.positions, gpu_nest(name, {positions_of(y), positions_of(x)}));
    a.groups = gpu_u32(call.attrs.groups);
    a.size = gpu_u32(x.shape.back() / call.attrs.groups);
    a.y_picture = gpu_u32(y.strides[0]);
    a.x_picture = gpu_u32(x.strides[0]);
    a.y_channel = gpu_u32(y.strides[-1]);
    a.x_channel = gpu_u32(x.strides[-1]);
    a.weight_type = gpu_type_of(call, 1);
    a.bias_type = gpu_type_of(call, 2);
    a.weight_stride = call.has(1) ? gpu_u32(call.in(1).strides[0]) : 0;
    a.bias_stride = call.has(2) ? gpu_u32(call.in(2).strides[0]) : 0;
    a.act = static_cast<u32>(call.attrs.act);
    a.eps = static_cast<float>(call.attrs.eps);
    return a;
  }

  static Result<Minted<GroupNormGpu>> plan(const TypedCall<GroupNorm>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(GroupNormGpuArgs a, arguments(call));
    const int64_t pictures = call.in(0).shape[0], elements = int64_t{a.positions.count} * a.size;
    GpuProgram program;
    if (pictures > 0 && elements > 0) {
      // Cut by the extents of one picture, never by the batch.
      const int64_t chunk = std::max<int64_t>(1, kWholeGroup / 2 / a.size);
      a.chunk = elements <= kWholeGroup ? a.positions.count : gpu_u32(chunk);
      a.chunks = (a.positions.count + a.chunk - 1) / a.chunk;
      const double bytes = static_cast<double>(pictures * elements * a.groups * unit_bytes(call.in(0).dtype));
      if (a.chunks == 1) {
        program.add(whole(call, a, traits, bytes));
      } else {
        split(program, call, a, traits, bytes);
      }
    }
    CHIARO_TRY(program.check(name, traits));
    const int64_t scratch = program.scratch_bytes;
    return Minted<GroupNormGpu>(std::move(program), scratch);
  }

 private:
  static GpuDispatch launch(const char* simd, const char* plain, const TypedCall<GroupNorm>& call,
                            const GroupNormGpuArgs& a, const DeviceTraits& traits, double bytes) {
    GpuDispatch d = gpu_dispatch(traits.gpu.simd_reduce ? simd : plain);
    d.constants = {gpu_type(call.in(0).dtype)};
    d.set_args(a);
    d.threads = gpu_threads_for((int64_t{std::min(a.chunk, a.positions.count)} * a.size + 3) / 4, traits);
    d.bytes = bytes;
    d.flops = 4 * bytes / static_cast<double>(unit_bytes(call.in(0).dtype));
    return d;
  }
  static GpuDispatch whole(const TypedCall<GroupNorm>& call, const GroupNormGpuArgs& a, const DeviceTraits& traits,
                           double bytes) {
    GpuDispatch d = launch("group_norm_whole_simd", "group_norm_whole", call, a, traits, 4 * bytes);
    d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_input(call, 2), gpu_output(call)};
    d.groups = {a.groups, gpu_u32(call.in(0).shape[0]), 1};
    return d;
  }
  static void split(GpuProgram& program, const TypedCall<GroupNorm>& call, const GroupNormGpuArgs& a,
                    const DeviceTraits& traits, double bytes) {
    const GpuSize grid{a.chunks, a.groups, gpu_u32(call.in(0).shape[0])};
    const GpuOperand partials = program.scratch(static_cast<int64_t>(grid.count()) * 12);
    GpuDispatch d = launch("group_norm_moments_simd", "group_norm_moments", call, a, traits, 2 * bytes);
    d.buffers = {gpu_input(call, 0), partials};
    d.groups = grid;
    program.add(std::move(d));
    d = launch("group_norm_apply", "group_norm_apply", call, a, traits, 2 * bytes);
    d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_input(call, 2), gpu_output(call), partials};
    d.groups = grid;
    program.add(std::move(d));
  }
};

}  // namespace

Kernels gpu_kernels_group_norm() {
  return make_kernels<GroupNormGpu>();
}

}  // namespace chiaro
