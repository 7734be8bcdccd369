#include "ops/gpu_soft_run.h"

namespace chiaro {
namespace {

Error too_short(const GpuDispatch& dispatch, size_t slot, const GpuOperand& operand, const SoftOperand& memory) {
  return {ErrorCode::internal, "GPU kernel " + std::string(dispatch.kernel) + " is given too little memory",
          "buffer " + std::to_string(slot) + " needs " + std::to_string(operand.offset + operand.bytes) +
              " bytes and has " + std::to_string(memory.bytes),
          "", ""};
}

}  // namespace

Status SoftGpuRun::dispatch(const GpuDispatch& d) {
  std::vector<SoftBuffer> buffers;
  for (const GpuOperand& operand : d.buffers) {
    const SoftOperand* memory = nullptr;
    switch (operand.kind) {
      case GpuOperand::Kind::none: break;
      case GpuOperand::Kind::input: memory = &inputs[static_cast<size_t>(operand.index)]; break;
      case GpuOperand::Kind::output: memory = &output; break;
      case GpuOperand::Kind::scratch: memory = &scratch; break;
    }
    if (memory == nullptr || memory->base == nullptr) {
      buffers.emplace_back();
      continue;
    }
    if (operand.offset + operand.bytes > memory->bytes) return too_short(d, buffers.size(), operand, *memory);
    buffers.push_back({memory->base + operand.offset, operand.bytes, memory->init, memory->init_offset + operand.offset,
                       operand.element_bytes});
  }
  CHIARO_ASSIGN(const SoftCounts done, gpu->run(d, buffers, options));
  counts.push_back(done);
  return {};
}

}  // namespace chiaro
