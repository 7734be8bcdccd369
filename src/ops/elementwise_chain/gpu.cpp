#include <algorithm>

#include "ops/elementwise_chain/gpu_args.h"
#include "ops/elementwise_chain/op.h"
#include "ops/gpu_kernel.h"

namespace chiaro {
namespace {

constexpr size_t kMostOperands = 4, kMostSteps = 8;  // of one launch
constexpr u32 kFirstActivation = 8;

// Steps that fit one launch, and the inputs that they read.
struct Part {
  std::vector<ChainStep> steps;
  std::vector<int> inputs;
};

std::vector<Part> cut(const std::vector<ChainStep>& steps) {
  std::vector<Part> parts(1);
  for (const ChainStep& step : steps) {
    const auto known = [&](const Part& part) {
      return std::find(part.inputs.begin(), part.inputs.end(), step.operand) != part.inputs.end();
    };
    const bool fresh = step.reads_operand() && !known(parts.back());
    if (parts.back().steps.size() == kMostSteps || (fresh && parts.back().inputs.size() == kMostOperands)) {
      parts.emplace_back();
    }
    if (step.reads_operand() && !known(parts.back())) parts.back().inputs.push_back(step.operand);
    parts.back().steps.push_back(step);
  }
  return parts;
}

void set_strides(ElementwiseChainGpuArgs& args, size_t which, const TensorDesc& desc) {
  for (int d = 0; d < desc.rank(); ++d) args.stride[6 * which + static_cast<size_t>(d)] = gpu_u32(desc.strides[d]);
}

// x and the result f32, f16 or bf16, operands of every type that load() reads; any strides.
struct ElementwiseChainGpu : GpuKernel<ElementwiseChainGpu, ElementwiseChain> {
  static constexpr std::string_view name = "gpu.elementwise_chain";

  static Result<Minted<ElementwiseChainGpu>> plan(const TypedCall<ElementwiseChain>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    CHIARO_TRY(gpu_offsets_fit(name, y));
    for (const Operand& operand : call.inputs) {
      if (!gpu_loadable(operand.desc.dtype)) return kernel_refusal(name, operand.desc.text(), "plain types");
      CHIARO_TRY(gpu_offsets_fit(name, operand.desc));
    }
    CHIARO_ASSIGN(const std::vector<ChainStep> steps, parse_chain(call.attrs.steps));
    const std::vector<Part> parts = cut(steps);
    GpuProgram program;
    const TensorDesc accumulator = dense(DType::f32, y.shape);
    const GpuOperand between = parts.size() > 1 ? program.scratch(accumulator.dense_bytes()) : GpuOperand{};
    for (size_t p = 0; p < parts.size() && y.count() > 0; ++p) {
      const bool first = p == 0, last = p + 1 == parts.size();
      CHIARO_TRY(add_part(program, call, parts[p], first ? gpu_input(call, 0) : between, first ? x : accumulator,
                          last ? gpu_output(call) : between, last ? y : accumulator));
    }
    CHIARO_TRY(program.check(name, traits));
    const int64_t scratch = program.scratch_bytes;
    return Minted<ElementwiseChainGpu>(std::move(program), scratch);
  }

 private:
  static Status add_part(GpuProgram& program, const TypedCall<ElementwiseChain>& call, const Part& part,
                         const GpuOperand& from, const TensorDesc& from_desc, const GpuOperand& to,
                         const TensorDesc& to_desc) {
    const Shape& shape = call.out().shape;
    ElementwiseChainGpuArgs args{};
    args.count = gpu_u32(call.out().count());
    args.rank = static_cast<u32>(shape.rank());
    for (int d = 0; d < shape.rank(); ++d) args.shape[d] = gpu_u32(shape[d]);
    set_strides(args, 0, to_desc);
    set_strides(args, 1, from_desc);
    GpuDispatch d = gpu_dispatch("elementwise_chain_each");
    d.constants = {gpu_type(from_desc.dtype), gpu_type(to_desc.dtype)};
    d.buffers = {from, {}, {}, {}, {}, to};
    d.bytes = static_cast<double>(from_desc.dense_bytes() + to_desc.dense_bytes());
    for (size_t k = 0; k < part.inputs.size(); ++k) {
      const TensorDesc& operand = call.in(part.inputs[k]);
      set_strides(args, 2 + k, broadcast_to(operand, shape));
      args.type[k] = gpu_type(operand.dtype);
      d.buffers[1 + k] = gpu_input(call, part.inputs[k]);
      d.bytes += static_cast<double>(operand.dense_bytes());
    }
    args.steps = static_cast<u32>(part.steps.size());
    for (size_t s = 0; s < part.steps.size(); ++s) set_step(args, s, part.steps[s], part.inputs);
    d.set_args(args);
    gpu_cover(d, call.out().count(), 256);
    d.flops = 2.0 * static_cast<double>(part.steps.size()) * static_cast<double>(call.out().count());
    program.add(std::move(d));
    return {};
  }

  static void set_step(ElementwiseChainGpuArgs& args, size_t s, const ChainStep& step, const std::vector<int>& inputs) {
    args.kind[s] = step.kind == ChainStep::Kind::activation ? kFirstActivation + static_cast<u32>(step.activation)
                                                            : static_cast<u32>(step.kind);
    if (step.reads_operand()) {
      args.operand[s] = static_cast<u32>(std::find(inputs.begin(), inputs.end(), step.operand) - inputs.begin());
    }
    args.scale[s] = static_cast<float>(step.scale);
    args.shift[s] = static_cast<float>(step.shift);
  }
};

}  // namespace

Kernels gpu_kernels_elementwise_chain() {
  return make_kernels<ElementwiseChainGpu>();
}

}  // namespace chiaro
