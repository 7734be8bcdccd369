// Pieces of 1,024 elements stay in the first-level cache while all steps run over them with the row functions of the
// single ops: memory is read and written once, and in f32 the result is that of the single ops, bit by bit.
#include "ops/cpu_blocks/elementwise.h"
#include "ops/cpu_blocks/elementwise_rows.h"
#include "ops/cpu_blocks/simd_math.h"
#include "ops/cpu_blocks/stream_copy.h"
#include "ops/elementwise_chain/op.h"

namespace chiaro {
namespace {

using Kind = ChainStep::Kind;

// out = acc (step) operand; `out` may equal either.
void run_step(const ChainStep& step, const float* acc, const float* operand, float* out, size_t n) {
  const auto binary = [&](BinaryFunction function, const float* a, const float* b) {
    binary_row(function, DType::f32, a, b, out, n);
  };
  switch (step.kind) {
    case Kind::plus: return binary(BinaryFunction::plus, acc, operand);
    case Kind::minus: return binary(BinaryFunction::minus, acc, operand);
    case Kind::times: return binary(BinaryFunction::times, acc, operand);
    case Kind::over: return binary(BinaryFunction::over, acc, operand);
    case Kind::minus_from: return binary(BinaryFunction::minus, operand, acc);
    case Kind::over_from: return binary(BinaryFunction::over, operand, acc);
    case Kind::affine:
      return affine_row(DType::f32, acc, static_cast<float>(step.scale), static_cast<float>(step.shift), out, n);
    case Kind::activation: return activation_row(step.activation, DType::f32, acc, out, n);
  }
}

// x and the result f32, f16 or bf16; operands any plain float dtype or i8; any strides. The result may take x's memory:
// a piece is stored when all of its steps are done.
struct ElementwiseChainCpu {
  using Op = ElementwiseChain;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.elementwise_chain";
  struct Params {
    std::vector<ChainStep> steps;
    std::vector<Elementwise> loops;  // of every input with the output; all number the elements alike
  };
  static Result<Minted<ElementwiseChainCpu>> plan(const TypedCall<ElementwiseChain>& call, const DeviceTraits&) {
    const TensorDesc& x = call.in(0);
    if (!row_encodable(x.dtype)) return kernel_refusal(name, x.text(), "x must be f32, f16 or bf16");
    CHIARO_ASSIGN(Params params, make_params(call));
    return Minted<ElementwiseChainCpu>(std::move(params));
  }
  static Status run(const Minted<ElementwiseChainCpu>& plan, CpuRun& run) {
    const std::vector<ChainStep>& steps = plan->steps;
    const std::vector<Elementwise>& loops = plan->loops;
    bool streaming = direct_target(loops[0], run.output, 0) != nullptr;
    for (size_t k = 0; k < loops.size(); ++k) streaming = streaming && streams(loops[k], &run.inputs[k], run.output);
    for_each_piece(run, loops[0].nest.count, [&](int64_t start, int64_t n) {
      alignas(64) float acc[kElementwisePiece], stage[kElementwisePiece];
      const auto row = [&](size_t k, float* into) { return row_of(loops[k], 1, run.inputs[k], start, n, into); };
      float* const target = streaming ? acc : direct_target(loops[0], run.output, start);
      const float* now = row(0, acc);
      for (size_t s = 0; s < steps.size(); ++s) {
        const float* operand = steps[s].reads_operand() ? row(static_cast<size_t>(steps[s].operand), stage) : nullptr;
        float* const to = s + 1 == steps.size() && target != nullptr ? target : acc;
        run_step(steps[s], now, operand, to, static_cast<size_t>(n));
        now = to;
      }
      if (target == nullptr) store_row_of(loops[0], now, start, n, run.output);
      if (streaming) {
        constexpr auto kUnit = static_cast<int64_t>(sizeof(float));
        stream_bytes(run.output + start * kUnit, reinterpret_cast<const std::byte*>(now),
                     static_cast<size_t>(n * kUnit));
      }
    });
    return {};
  }

 private:
  static Result<Params> make_params(const TypedCall<ElementwiseChain>& call) {
    CHIARO_ASSIGN(auto steps, parse_chain(call.attrs.steps));
    Params params{std::move(steps), {}};
    for (size_t k = 0; k < call.inputs.size(); ++k) {
      const TensorDesc& in = call.in(static_cast<int>(k));
      if (!row_decodable(in.dtype)) return kernel_refusal(name, in.text(), "operands must be of a plain dtype");
      params.loops.push_back(make_elementwise(call.out(), {in}));
    }
    return params;
  }
};

}  // namespace

Kernels cpu_kernels_elementwise_chain() {
  return make_kernels<ElementwiseChainCpu>();
}

}  // namespace chiaro
