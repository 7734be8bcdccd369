#include "runtime/ops_docs.h"

#include <algorithm>
#include <vector>

#include "ops/catalogue.h"
#include "ops/conformance/variants.h"

namespace chiaro {
namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string s;
  for (const std::string& part : parts) s += (s.empty() ? "" : std::string(between)) + part;
  return s;
}

void add_once(std::vector<std::string>& list, std::string_view item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.emplace_back(item);
}

// Whether the kernel's plan() takes a variant; no memory is involved.
bool takes(const Kernel& kernel, const Variant& v, const DeviceTraits& traits) {
  const auto out = v.infer();
  if (!out.ok()) return false;
  std::vector<Operand> operands;
  for (const VariantInput& in : v.inputs) {
    const int64_t start = 64 + in.offset * unit_bytes(in.desc.dtype);
    operands.push_back({in.desc, std::min<int64_t>(64, start & -start), in.present});
  }
  while (operands.size() < v.source->op->inputs.size() && !v.source->op->variadic) operands.push_back({{}, 1, false});
  const Operand output{v.overwrite >= 0 ? v.inputs[static_cast<size_t>(v.overwrite)].desc : *out, 64, true};
  return kernel.plan({v.source->op, &v.source->attrs, operands, output}, traits).ok();
}

// Collects over the variants of all cases of an op.
class Survey {
 public:
  Survey(const OpDef& op, const Kernel& kernel, const DeviceTraits& traits)
      : op_(op), kernel_(kernel), traits_(traits), dtypes_(op.inputs.size()) {}

  void offer(const Case& c, int index) {
    for (const Variant& v : expand(c, index)) {
      const bool taken = takes(kernel_, v, traits_);
      for (size_t i = 0; i < v.inputs.size(); ++i) {
        const VariantInput& in = v.inputs[i];
        if (!in.present) continue;
        if (taken) add_once(dtypes_[std::min(i, dtypes_.size() - 1)], dtype_name(in.desc.dtype));
        if (in.layout != Layout::contiguous) add_once(taken ? layouts_ : refused_, layout_name(in.layout));
      }
    }
  }

  KernelTakes result() const {
    KernelTakes takes;
    takes.kernel = kernel_.name;
    for (size_t i = 0; i < dtypes_.size(); ++i) {
      if (!dtypes_[i].empty()) takes.inputs.push_back(std::string(op_.inputs[i].name) + " " + joined(dtypes_[i], " "));
    }
    for (const std::string& layout : refused_) {
      if (std::find(layouts_.begin(), layouts_.end(), layout) == layouts_.end()) takes.layouts.push_back(layout);
    }
    return takes;
  }

 private:
  const OpDef& op_;
  const Kernel& kernel_;
  const DeviceTraits& traits_;
  std::vector<std::vector<std::string>> dtypes_;
  std::vector<std::string> layouts_, refused_;
};

std::string inputs_text(const OpDef& op) {
  std::vector<std::string> parts;
  for (const InputSpec& in : op.inputs) {
    parts.push_back(std::string(in.name) + (in.optional ? "? " : " ") + std::string(in.shape));
  }
  return joined(parts, "; ") + (op.variadic ? "; ..." : "");
}

std::string attrs_text(const OpDef& op) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : op.default_attrs) parts.push_back(name + "=" + attr_text(value));
  return parts.empty() ? "none" : joined(parts, ", ");
}

std::string memory_text(const OpDef& op) {
  if (op.kind == OpKind::view) return "a view of " + std::string(op.inputs[0].name);
  if (op.kind == OpKind::inplace) return "is " + std::string(op.inputs[0].name) + ", one version later";
  if (op.alias.may_overwrite < 0) return "fresh";
  return "fresh, or that of " + std::string(op.inputs[static_cast<size_t>(op.alias.may_overwrite)].name);
}

std::string definition_text(const OpDef& op) {
  if (op.kind == OpKind::view) return "its strides";
  if (op.reference != nullptr && op.decompose != nullptr) return "a reference in double, and a decomposition";
  return op.reference != nullptr ? "a reference in double" : "a decomposition";
}

std::vector<KernelTakes> on_cpu(const OpDef& op) {
  return kernels_take(op, cpu_kernel_table(), DeviceTraits{});
}

std::string escaped(std::string_view text) {  // for a table cell
  std::string s;
  for (const char c : text) s += c == '|' ? std::string("\\|") : std::string(1, c);
  return s;
}

// name -> text, in the order in which cards and sections show them.
std::vector<std::pair<std::string, std::string>> facts(const OpDef& op) {
  std::vector<std::pair<std::string, std::string>> all = {
      {"formula", std::string(op.formula)}, {"inputs", inputs_text(op)},         {"attributes", attrs_text(op)},
      {"memory", memory_text(op)},          {"defined by", definition_text(op)},
  };
  if (!op.deterministic) all.emplace_back("bits", "may differ from run to run");
  const std::vector<KernelTakes> kernels = on_cpu(op);
  for (const KernelTakes& kernel : kernels) all.emplace_back(kernel.kernel, kernel.text());
  if (kernels.empty()) all.emplace_back("cpu", op.kind == OpKind::view ? "nothing runs" : "no kernel");
  return all;
}

}  // namespace

std::string KernelTakes::text() const {
  if (inputs.empty()) return "none of the conformance cases, which are small";
  const std::string strides = layouts.empty() ? "any strides" : "no " + joined(layouts, ", ") + " inputs";
  return joined(inputs, "; ") + "; " + strides;
}

std::vector<KernelTakes> kernels_take(const OpDef& op, const KernelTable& table, const DeviceTraits& traits) {
  std::vector<KernelTakes> all;
  Cases cases;
  for (const CaseTableEntry& entry : case_table()) {
    if (entry.op == op.name) entry.fill(cases);
  }
  for (const Kernels& kernels : table) {
    for (const Kernel& kernel : kernels) {
      if (kernel.op != op.name) continue;
      Survey survey(op, kernel, traits);
      for (size_t i = 0; i < cases.all().size(); ++i) survey.offer(cases.all()[i], static_cast<int>(i));
      all.push_back(survey.result());
    }
  }
  return all;
}

std::string op_card(const OpDef& op) {
  std::string s = std::string(op.name) + "\n";
  for (const auto& [name, text] : facts(op))
    s += "  " + name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + text + "\n";
  return s;
}

std::string ops_markdown() {
  std::string s =
      "# Operations\n\n"
      "Written by the tests from the declarations in `src/ops/<op>/op.h`; what a kernel takes is found by offering "
      "its\n"
      "`plan()` every conformance case. `CHIARO_UPDATE_DOCS=1 test_ops` writes this page anew.\n\n"
      "| op | formula | CPU | decomposition |\n|---|---|---|---|\n";
  for (const OpDef* op : op_catalogue()) {
    const bool kernel = !on_cpu(*op).empty();
    s += "| [" + std::string(op->name) + "](#" + std::string(op->name) + ") | `" + escaped(op->formula) + "` | " +
         (op->kind == OpKind::view ? "view" : (kernel ? "yes" : "no")) + " | " + (op->decompose ? "yes" : "no") +
         " |\n";
  }
  for (const OpDef* op : op_catalogue()) {
    s += "\n## " + std::string(op->name) + "\n\n";
    for (const auto& [name, text] : facts(*op))
      s += "- " + name + ": " + (name == "formula" ? "`" + text + "`" : text) + "\n";
  }
  return s;
}

}  // namespace chiaro
