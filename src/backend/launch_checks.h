// Whether the operands of a launch lie where its device may touch them: what every device asks before it runs one.
#pragma once

#include <functional>
#include <string>

#include "backend/device.h"

namespace chiaro {

// Inputs (those that are there), output and scratch, with their names for errors ("input 1 \"weight\"") and the bytes
// that must lie behind them at least.
using OperandCheck = std::function<Status(const BufferRef& operand, const std::string& name, int64_t bytes)>;
Status for_each_operand(const Launch& launch, const OperandCheck& check);

// error[ownership]: `operand` of a launch, or of a copy where `launch` is null, lies in memory of another device.
Error foreign_memory(const Device& device, const std::string& operand, const Buffer& buffer, const Launch* launch);

// Errors: ownership, naming operand, op, node and owner; internal for bounds.
Status check_operands(const Device& device, const Launch& launch);

}  // namespace chiaro
