// Flash attention: blocks of 192 rows of q pass over blocks of 256 keys; no score matrix is kept.
// Bytes: q read and y written once, k and v read once and, packed, once per block of q from the outer cache.
#include "ops/attention/op.h"
#include "ops/cpu_blocks/attention_block.h"
#include "ops/cpu_blocks/norm_kernel.h"

namespace chiaro {
namespace {

AttentionTensor tensor_of(const TensorDesc& t) {
  return {nullptr, t.dtype, t.strides[0], t.strides[1], t.strides[2], t.strides[3]};
}

struct AttentionCpu {
  using Op = Attention;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.attention";
  struct Params {
    AttentionProblem problem;  // without pointers
    bool bias = false, lengths = false;
    int workers = 1;
  };
  static Result<Minted<AttentionCpu>> plan(const TypedCall<Attention>& call, const DeviceTraits& traits) {
    CHIARO_TRY(check_activation(name, call.out()));
    for (int i = 0; i < 4; ++i) {
      if (call.has(i) && !row_decodable(call.in(i).dtype)) {
        return kernel_refusal(name, call.in(i).text(), "a plain float type");
      }
    }
    const Shape &q = call.in(0).shape, &k = call.in(1).shape;
    Params params;
    AttentionProblem& p = params.problem;
    p.batch = q[0];
    p.lq = q[1];
    p.heads = q[2];
    p.d = q[3];
    p.lk = k[1];
    p.kv_heads = k[2];
    p.q = tensor_of(call.in(0));
    p.k = tensor_of(call.in(1));
    p.v = tensor_of(call.in(2));
    p.out_map = tensor_of(call.out());
    p.scale = static_cast<float>(Attention::scale_of(call.attrs, p.d));
    p.causal = call.attrs.causal;
    params.bias = call.has(3);
    if (params.bias) take_bias(call.in(3), p);
    params.lengths = call.has(4);
    if (params.lengths) p.key_length_stride = call.in(4).strides[0];
    params.workers = traits.threads;
    const auto scratch = static_cast<int64_t>(attention_scratch_bytes(p, traits.threads));
    return Minted<AttentionCpu>(params, scratch);
  }
  static Status run(const Minted<AttentionCpu>& plan, CpuRun& run) {
    CHIARO_TRY(check_workers(name, *run.pool, plan->workers));
    AttentionProblem p = plan->problem;
    p.q.data = run.inputs[0];
    p.k.data = run.inputs[1];
    p.v.data = run.inputs[2];
    if (plan->bias) p.bias = run.inputs[3];
    if (plan->lengths) p.key_lengths = run.in<int32_t>(4);
    p.out = run.output;
    attention_block(p, run.scratch, *run.pool, run.cancel);
    return {};
  }

 private:
  static void take_bias(const TensorDesc& bias, AttentionProblem& p) {
    const TensorDesc full = broadcast_to(bias, Shape{p.batch, p.heads, p.lq, p.lk});
    p.bias_dtype = bias.dtype;
    p.bias_batch = full.strides[0];
    p.bias_head = full.strides[1];
    p.bias_row = full.strides[2];
    p.bias_key = full.strides[3];
  }
};

}  // namespace

Kernels cpu_kernels_attention() {
  return make_kernels<AttentionCpu>();
}

}  // namespace chiaro
