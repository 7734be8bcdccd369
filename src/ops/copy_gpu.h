// Launches of the copying kernels (ops/contiguous and ops/cast), for the ops that move or convert elements.
#pragma once

#include "ops/contiguous/gpu_args.h"
#include "ops/gpu_kernel.h"

namespace chiaro {

// One side of a copy: the operand, and its view.
struct GpuSide {
  GpuOperand operand;
  TensorDesc desc;
  int64_t alignment = 1;  // of the view's first element
};

// y = x, bit by bit: plain types of the same size. x stretches to y's shape.
inline Status gpu_copy(GpuProgram& program, std::string_view kernel, const GpuSide& y, const GpuSide& x) {
  CHIARO_ASSIGN(GpuNest nest, gpu_nest(kernel, {y.desc, x.desc}));
  if (nest.count == 0) return {};
  const int64_t unit = unit_bytes(y.desc.dtype), bytes = nest.count * unit;
  const bool line = gpu_flat(nest, 2) && bytes % 16 == 0 && y.alignment % 16 == 0 && x.alignment % 16 == 0;
  if (line) nest.count = gpu_u32(bytes / 16);
  GpuDispatch d = gpu_dispatch(line ? "copy_line" : "copy_each");
  d.constants = {static_cast<uint32_t>(unit)};
  d.buffers = {x.operand, y.operand};
  d.set_args(CopyGpuArgs{nest});
  gpu_cover(d, nest.count, 256);
  d.bytes = 2.0 * static_cast<double>(bytes);
  program.add(std::move(d));
  return {};
}

// y = x in y's type: f32, f16 or bf16 from what load() reads. x stretches to y's shape.
inline Status gpu_convert(GpuProgram& program, std::string_view kernel, const GpuSide& y, const GpuSide& x) {
  const bool readable = gpu_loadable(x.desc.dtype) || x.desc.dtype == DType::i32;
  if (!gpu_storable(y.desc.dtype) || !readable) {
    return kernel_refusal(kernel, x.desc.text() + " to " + y.desc.text(), "it writes f32, f16 and bf16");
  }
  CHIARO_ASSIGN(const GpuNest nest, gpu_nest(kernel, {y.desc, x.desc}));
  if (nest.count == 0) return {};
  GpuDispatch d = gpu_dispatch("convert_each");
  d.constants = {gpu_type(y.desc.dtype), gpu_type(x.desc.dtype)};
  d.buffers = {x.operand, y.operand};
  d.set_args(CopyGpuArgs{nest});
  gpu_cover(d, nest.count, 256);
  d.flops = nest.count;
  d.bytes = static_cast<double>(nest.count) * static_cast<double>(unit_bytes(x.desc.dtype) + unit_bytes(y.desc.dtype));
  program.add(std::move(d));
  return {};
}

}  // namespace chiaro
