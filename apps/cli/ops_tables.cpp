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

}  // namespace chiaro::cli
