#include "backend/launch_checks.h"

#include <algorithm>

namespace chiaro {
namespace {

std::string op_name(const Launch& launch) {
  return launch.op != nullptr ? std::string(launch.op->name) : "a kernel";
}

std::string input_name(const Launch& launch, size_t i) {
  std::string name = "input " + std::to_string(i);
  if (launch.op == nullptr || launch.op->inputs.empty()) return name;
  return name + " \"" + std::string(launch.op->inputs[std::min(i, launch.op->inputs.size() - 1)].name) + "\"";
}

}  // namespace

Status for_each_operand(const Launch& launch, const OperandCheck& check) {
  for (size_t i = 0; i < launch.inputs.size(); ++i) {
    if (launch.inputs[i]) CHIARO_TRY(check(launch.inputs[i], input_name(launch, i), 1));
  }
  if (launch.output) CHIARO_TRY(check(launch.output, "the output", 1));
  return launch.scratch ? check(launch.scratch, "the scratch", launch.plan->scratch_bytes()) : Status{};
}

Error foreign_memory(const Device& device, const std::string& operand, const Buffer& buffer, const Launch* launch) {
  const std::string& name = device.traits().name;
  return {ErrorCode::ownership,
          operand + " of " + (launch != nullptr ? op_name(*launch) : "a copy") + " is not in the memory of " + name,
          "it lies in the memory of " + buffer.owner().traits().name + ", which " + name + " does not address",
          "the plan must copy it there first", launch != nullptr ? std::string(launch->label) : name};
}

Status check_operands(const Device& device, const Launch& launch) {
  return for_each_operand(launch, [&](const BufferRef& ref, const std::string& name, int64_t bytes) -> Status {
    if (ref.buffer->bytes() == 0) return {};
    if (!device.can_address(*ref.buffer)) return foreign_memory(device, name, *ref.buffer, &launch);
    if (ref.offset >= 0 && ref.offset + bytes <= ref.buffer->bytes()) return {};
    return Error{ErrorCode::internal, name + " of " + op_name(launch) + " is past the end of a buffer", "", "",
                 std::string(launch.label)};
  });
}

}  // namespace chiaro
