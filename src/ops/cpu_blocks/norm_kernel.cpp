#include "ops/cpu_blocks/norm_kernel.h"

namespace chiaro {

Status check_activation(std::string_view kernel, const TensorDesc& desc) {
  if (!row_encodable(desc.dtype)) return kernel_refusal(kernel, desc.text(), "f32, f16 or bf16");
  return {};
}

Status check_workers(std::string_view kernel, const ThreadPool& pool, int planned) {
  if (pool.threads() <= planned) return {};
  return Error{ErrorCode::internal, std::string(kernel) + " was planned for " + std::to_string(planned) + " threads",
               "the pool has " + std::to_string(pool.threads()), "plan with the traits of this device", ""};
}

bool rows_direct(const RowLayout& in, int64_t in_alignment, const RowLayout& out, int64_t out_alignment,
                 Activation act) {
  return in.dense_rows() && out.dense_rows() && in.dtype == out.dtype && in_alignment % in.unit == 0 &&
         out_alignment % out.unit == 0 && (act_in_registers(act) || in.dtype == DType::f32);
}

Result<NormRows> plan_norm_rows(std::string_view kernel, const NormInputs& at, std::span<const Operand> inputs,
                                const Operand& output, Activation act, const DeviceTraits& traits) {
  CHIARO_TRY(check_activation(kernel, inputs[0].desc));
  CHIARO_TRY(check_activation(kernel, output.desc));
  NormRows rows;
  const int axis = inputs[0].desc.rank() - 1;
  rows.in = rows_along(inputs[0].desc, axis);
  rows.out = rows_along(output.desc, axis);
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!inputs[i].present) continue;
    if (!row_decodable(inputs[i].desc.dtype)) {
      return kernel_refusal(kernel, inputs[i].desc.text(), "parameters of a plain float type");
    }
    const auto which = static_cast<int>(i);
    const auto stretched = [&] { return rows_along(broadcast_to(inputs[i].desc, inputs[0].desc.shape), axis); };
    if (which == at.weight) rows.at.weight = which, rows.weight = inputs[i].desc;
    if (which == at.bias) rows.at.bias = which, rows.bias = inputs[i].desc;
    if (which == at.scale) rows.at.scale = which, rows.scale = stretched();
    if (which == at.shift) rows.at.shift = which, rows.shift = stretched();
  }
  rows.act = act;
  rows.direct = rows_direct(rows.in, inputs[0].alignment, rows.out, output.alignment, act);
  // Rounded once, at the end.
  if (rows.modulated() && rows.in.dtype != DType::f32) rows.direct = false;
  rows.workers = traits.threads;
  return rows;
}

}  // namespace chiaro
