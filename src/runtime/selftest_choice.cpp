// Which variants of the conformance cases the self-test runs: a greedy cover of what they reach, by cost.
#include <algorithm>
#include <cmath>
#include <set>

#include "ops/catalogue.h"
#include "ops/gpu_kernel.h"
#include "runtime/conformance_check.h"
#include "runtime/selftest.h"

namespace chiaro {
namespace {

// A check may do this much, operations and elements. Keeps the whole within seconds, also where the GPU is a model of
// one.
constexpr double kMostWork = 1 << 22;

using Features = std::set<std::string>;
const std::string kKernel = "kernel ";       // how the features that matter most begin
const std::string kConstant = " constant ";  // in those that choose code within a kernel: a type's, a format's

double weight_of(const std::string& feature) {
  return feature.starts_with(kKernel) ? 10 : feature.find(kConstant) != std::string::npos ? 4 : 1;
}

struct RecordedLaunches final : GpuRun {
  Features* features = nullptr;
  Status dispatch(const GpuDispatch& d) override {
    const std::string kernel(d.kernel);
    features->insert(kKernel + kernel);
    for (size_t i = 0; i < d.constants.size(); ++i) {
      features->insert(kernel + kConstant + std::to_string(i) + "=" + std::to_string(d.constants[i].bits));
    }
    if (d.groups.x > 1) features->insert(kernel + " x");
    if (d.groups.y > 1) features->insert(kernel + " y");
    if (d.groups.z > 1) features->insert(kernel + " z");
    return {};
  }
};

std::string size_class(int64_t size) {
  return size <= 1 ? "1" : size <= 16 ? "few" : size <= 64 ? "some" : size <= 512 ? "many" : "wide";
}

// What a variant reaches besides kernels: its case, and how its operands lie.
void add_shape_features(const Variant& v, Features& features) {
  features.insert("case " + std::to_string(v.case_index));
  if (v.batch > 1) features.insert("batch");
  if (v.overwrite >= 0) features.insert("in place");
  for (const auto& [name, value] : v.source->attrs) features.insert(name + "=" + attr_text(value));
  for (size_t i = 0; i < v.inputs.size(); ++i) {
    const VariantInput& in = v.inputs[i];
    const std::string input = "input " + std::to_string(i) + " ";
    features.insert(input + (in.present ? "present" : "absent"));
    if (!in.present) continue;
    features.insert(input + std::string(dtype_name(in.desc.dtype)));
    features.insert(input + std::string(layout_name(in.layout)));
    features.insert(input + "rank " + std::to_string(in.desc.rank()));
    for (int d = 0; d < in.desc.rank(); ++d) {
      features.insert(input + std::to_string(d) + ": " + size_class(in.desc.shape[d]));
    }
  }
}

struct Candidate {
  Variant variant;
  Features features;
  double cost = 0;
};

std::vector<Candidate> candidates_of(const Device& device, const OpDef& op, const std::vector<Case>& cases) {
  std::vector<Candidate> found;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const Variant& v : expand(cases[i], static_cast<int>(i))) {
      const auto out = v.infer();
      if (!out.ok() || work_of(v, *out) > kMostWork) continue;
      Candidate c{v, {}, 2000 + work_of(v, *out)};
      for (const Kernel& kernel : device.kernels(op.name)) {
        const auto plan = plan_launch(device, kernel, v, *out);
        if (!plan.ok()) continue;
        c.features.insert(kKernel + std::string(kernel.name));
        if (!kernel.name.starts_with("gpu.")) continue;
        RecordedLaunches record;
        record.features = &c.features;
        (void)plan->run(record);
      }
      if (c.features.empty()) continue;
      add_shape_features(v, c.features);
      found.push_back(std::move(c));
    }
  }
  return found;
}

// One op's candidates; the best of them is taken again and again.
struct Field {
  SelfTestChoice* choice = nullptr;
  std::vector<Candidate> candidates;
  Features reached;
  double gain = 0;  // of `best`
  size_t best = 0;

  void look() {
    gain = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Features& f = candidates[i].features;
      double fresh = 0;
      for (const std::string& one : f) fresh += reached.count(one) > 0 ? 0 : weight_of(one);
      const double value = fresh / std::pow(candidates[i].cost, 0.25);
      if (value > gain) {
        gain = value;
        best = i;
      }
    }
  }
  void take() {
    Candidate& c = candidates[best];
    reached.insert(c.features.begin(), c.features.end());
    choice->checks.push_back(std::move(c.variant));
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(best));
    look();
  }
};

}  // namespace

std::vector<SelfTestChoice> choose_selftest(const Device& device) {
  std::vector<SelfTestChoice> choices;
  for (const OpDef* op : op_catalogue()) {
    if (op->kind == OpKind::view || device.kernels(op->name).empty()) continue;
    choices.emplace_back();
    choices.back().op = op;
    choices.back().cases = cases_of(op->name);
  }
  std::vector<Field> fields;
  for (SelfTestChoice& choice : choices) {
    fields.push_back({&choice, candidates_of(device, *choice.op, choice.cases), {}, 0, 0});
    fields.back().look();
  }
  for (size_t taken = 0; taken < kSelfTestChecks; ++taken) {
    const auto best =
        std::max_element(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.gain < b.gain; });
    if (best == fields.end() || best->gain <= 0) break;
    best->take();
  }
  return choices;
}

}  // namespace chiaro
