#include "ops_tables.h"

#include <fmt/format.h>

#include "ops/catalogue.h"

namespace chiaro::cli {
namespace {

std::string_view kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::compute: return "compute";
    case OpKind::view: return "view";
    case OpKind::inplace: return "in place";
  }
  return "?";
}

std::string kernel_names(const Device& device, std::string_view op) {
  std::string names;
  for (const Kernel& kernel : device.kernels(op)) {
    if (!names.empty()) names += ", ";
    names += kernel.name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

std::string ops_table(const Engine& engine) {
  std::string text;
  for (const OpDef* op : op_catalogue()) {
    text += fmt::format("{:<20} {:<9}", op->name, kind_name(op->kind));
    if (op->kind == OpKind::view) {
      text += " every device, without a kernel";
    } else {
      for (const Device* device : engine.devices()) {
        text += fmt::format(" {}: {}", device->traits().name, kernel_names(*device, op->name));
      }
    }
    text += '\n';
  }
  return text;
}

std::string op_text(const OpDef& op, const Engine& engine) {
  std::string text = fmt::format("{}\n  formula     {}\n  kind        {}\n", op.name, op.formula, kind_name(op.kind));
  for (const InputSpec& input : op.inputs) {
    text += fmt::format("  input       {} {}{}\n", input.name, input.shape, input.optional ? ", may be left out" : "");
  }
  if (op.variadic) text += "              the last input may be repeated\n";
  for (const auto& attr : op.default_attrs) text += fmt::format("  attribute   {}\n", attr.first);
  text += fmt::format("  defined by  {}\n", op.decompose != nullptr ? "simpler ops" : "a double-precision reference");
  if (op.kind == OpKind::view) return text;
  for (const Device* device : engine.devices()) {
    text += fmt::format("  on {:<8} {}\n", device->traits().name, kernel_names(*device, op.name));
  }
  return text;
}

}  // namespace chiaro::cli
