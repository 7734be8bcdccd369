#include "runtime/conformance.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "ops/catalogue.h"
#include "runtime/conformance_check.h"

namespace chiaro {
namespace {

constexpr size_t kFailuresShown = 5;

// One op on one device.
class OpSuite {
 public:
  OpSuite(Engine& engine, Device& device, const OpDef& op, const ConformanceOptions& options)
      : engine_(engine), device_(device), op_(op), options_(options) {
    report_.op = op.name;
  }

  OpConformance run(const std::vector<Case>& cases) {
    const auto start = std::chrono::steady_clock::now();
    if (cases.empty()) fail(std::string(op_.name) + " has no conformance cases");
    for (size_t i = 0; i < cases.size(); ++i) run_case(cases[i], static_cast<int>(i));
    if (report_.missing == report_.cases && !device_.kernels(op_.name).empty()) fail("its kernels take no case");
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  void run_case(const Case& c, int index) {
    ++report_.cases;
    taken_.clear();
    const int before = report_.ran + report_.copied;
    bool chosen = false;
    for (const Variant& v : expand(c, index)) {
      if (options_.only && !options_.only(v.text())) continue;
      chosen = true;
      ++report_.variants;
      run_variant(v);
    }
    if (!chosen || report_.ran + report_.copied > before) return;
    if (may_lack_cases()) {
      ++report_.missing;
    } else {
      fail("ran nowhere: case " + std::to_string(index) + " of " + std::string(op_.name) + " " + c.note);
    }
  }

  // Whether the device has kernels of its own, which may leave something to other devices.
  bool may_lack_cases() const { return device_.traits().kind != "cpu" && device_.traits().kind != "isolated"; }

  void run_variant(const Variant& v) {
    const auto out = v.infer();
    if (!out.ok()) return refuse("the op itself: " + out.error().why);
    auto expected = expectation(v, *out);
    if (!expected.ok()) return fail(v.text() + ": no reference: " + expected.error().format());
    std::string refusals;
    bool ran = false;
    for (const Kernel& kernel : device_.kernels(op_.name)) {
      const VariantRun run = launch_variant(device_, kernel, v, *out, expected->values);
      if (run.refused) {
        refusals += (refusals.empty() ? "" : "; ") + std::string(kernel.name) + ": " + run.why;
        continue;
      }
      ran = true;
      if (judge(v, *expected, run, kernel.name)) same_bits(v, *expected, kernel, run.output);
    }
    report_.ran += ran ? 1 : 0;
    if (ran) taken_.push_back(signature(v));
    if (!options_.planner || (v.overwrite >= 0 && op_.kind == OpKind::compute)) {
      if (!ran) refuse(refusals);
      return;
    }
    if (!ran || wants_plan(v)) run_planned(v, *expected, ran, refusals);
  }

  // Through the planner: layouts that no kernel took, and one dtype of every layout where all inputs share it.
  void run_planned(const Variant& v, const Expectation& expected, bool ran, const std::string& refusals) {
    const VariantRun run = plan_variant(engine_, device_, v, expected.out, expected.values);
    if (run.refused) {
      const bool must = ran || std::find(taken_.begin(), taken_.end(), signature(v)) != taken_.end();
      if (must) return fail(v.text() + ": runs where its inputs are dense, but cannot be planned: " + run.why);
      return refuse(refusals.empty() ? run.why : refusals);
    }
    if (ran) {
      ++report_.planned;
    } else {
      ++report_.copied;
      taken_.push_back(signature(v));
    }
    judge(v, expected, run, "the plan");
  }

  bool wants_plan(const Variant& v) const {
    const bool first = std::all_of(v.inputs.begin(), v.inputs.end(), [&](const VariantInput& in) {
      return !in.present || in.desc.dtype == DType::f32 || in.desc.dtype == DType::i32;
    });
    return first && v.batch != 1 && v.batch != 3;
  }

  // Dtypes without layouts: what runs dense must run in any layout.
  static std::string signature(const Variant& v) {
    std::string s;
    for (const VariantInput& in : v.inputs) s += in.present ? std::string(dtype_name(in.desc.dtype)) + " " : "- ";
    return s;
  }

  bool judge(const Variant& v, const Expectation& expected, const VariantRun& run, std::string_view by) {
    auto wrong = wrong_with(v, expected, run, by);
    if (wrong) fail(std::move(*wrong));
    return !wrong;
  }

  // The same bytes for each picture alone, and on the other engines.
  void same_bits(const Variant& v, const Expectation& expected, const Kernel& kernel,
                 std::span<const std::byte> output) {
    if (v.batch == 3 && v.all_contiguous()) pictures_alone(v, expected, kernel, output);
    if (!v.all_contiguous() || (v.batch != 0 && v.batch == 1)) return;
    for (Engine* other : options_.same_bits) {
      Device* device = other->device(report_device());
      if (device == nullptr) continue;
      for (const Kernel& twin : device->kernels(op_.name)) {
        if (twin.name != kernel.name) continue;
        const VariantRun run = launch_variant(*device, twin, v, expected.out, expected.values);
        if (run.refused || run.broken || !std::equal(output.begin(), output.end(), run.output.begin())) {
          fail(v.text() + ", by " + std::string(kernel.name) + ": other bytes with " +
               std::to_string(device->traits().threads) + " threads " + run.why);
        }
      }
    }
  }

  void pictures_alone(const Variant& v, const Expectation& expected, const Kernel& kernel,
                      std::span<const std::byte> output) {
    for (int picture = 0; picture < 3; ++picture) {
      const Variant alone = with_pictures(v, picture, 1);
      const auto out = alone.infer();
      const int dim = out.ok() ? batch_dimension(out->shape, expected.out.shape) : -1;
      if (dim < 0) return;
      std::vector<std::vector<double>> values;
      for (size_t i = 0; i < alone.inputs.size(); ++i) {
        values.push_back(alone.inputs[i].present ? variant_values(alone, i) : std::vector<double>{});
      }
      const VariantRun run = launch_variant(device_, kernel, alone, *out, values);
      if (run.refused || run.broken || run.output != picture_of(output, expected.out, dim, picture)) {
        return fail(v.text() + ", by " + std::string(kernel.name) + ": picture " + std::to_string(picture) +
                    " has other bytes than alone " + run.why);
      }
    }
  }

  // The one dimension that is 1 in `one` and 3 in `three`; -1 where there is no such.
  static int batch_dimension(const Shape& one, const Shape& three) {
    int dim = -1;
    for (int d = 0; d < three.rank() && one.rank() == three.rank(); ++d) {
      if (one[d] == three[d]) continue;
      if (dim >= 0 || one[d] * 3 != three[d]) return -1;
      dim = d;
    }
    return dim;
  }

  static std::vector<std::byte> picture_of(std::span<const std::byte> all, const TensorDesc& out, int dim,
                                           int picture) {
    int64_t inner = unit_bytes(out.dtype) * (out.shape[dim] / 3), outer = 1;
    for (int d = dim + 1; d < out.rank(); ++d) inner *= out.shape[d];
    for (int d = 0; d < dim; ++d) outer *= out.shape[d];
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < outer; ++i) {
      const auto from = all.begin() + (3 * i + picture) * inner;
      bytes.insert(bytes.end(), from, from + inner);
    }
    return bytes;
  }

  std::string_view report_device() const { return device_.traits().name; }
  void refuse(const std::string& reason) { ++report_.refused[reason.empty() ? "no kernel on this device" : reason]; }
  void fail(std::string message) {
    if (++report_.failed <= static_cast<int>(kFailuresShown)) report_.failures.push_back(std::move(message));
  }

  Engine& engine_;
  Device& device_;
  const OpDef& op_;
  const ConformanceOptions& options_;
  OpConformance report_;
  std::vector<std::string> taken_;  // signatures of the current case that ran
};

}  // namespace

bool ConformanceReport::passed() const {
  return !ops.empty() && std::all_of(ops.begin(), ops.end(), [](const OpConformance& op) { return op.failed == 0; });
}

int ConformanceReport::variants() const {
  int total = 0;
  for (const OpConformance& op : ops) total += op.variants;
  return total;
}

std::string ConformanceReport::text() const {
  std::string s;
  char line[200];
  for (const OpConformance& op : ops) {
    std::snprintf(line, sizeof line,
                  "%-20s %-7s %3d cases %6d variants: %6d as they are, %5d after copies, %5d planned, %4.1f s\n",
                  op.op.c_str(), op.failed > 0 ? "FAILED" : (op.missing == op.cases ? "missing" : "ok"), op.cases,
                  op.variants, op.ran, op.copied, op.planned, op.seconds);
    s += line;
    if (op.missing > 0) s += "    " + std::to_string(op.missing) + " cases are not taken by this device\n";
    for (const auto& [reason, count] : op.refused) s += "    " + std::to_string(count) + " not run: " + reason + "\n";
    for (const std::string& failure : op.failures) s += "    " + failure + "\n";
    const auto more = static_cast<size_t>(op.failed) - op.failures.size();
    if (more > 0) s += "    and " + std::to_string(more) + " more failures\n";
  }
  return s;
}

Result<ConformanceReport> run_conformance(Engine& engine, std::string_view device, const ConformanceOptions& options) {
  Device* target = engine.device(device);
  if (target == nullptr) {
    return Error{ErrorCode::usage, "there is no device \"" + std::string(device) + "\"", "", "", ""};
  }
  ConformanceReport report;
  report.device = device;
  for (const std::string& name : options.ops) {
    if (find_op(name) == nullptr) return Error{ErrorCode::usage, "there is no op \"" + name + "\"", "", "", ""};
  }
  for (const OpDef* op : op_catalogue()) {
    const bool named = std::find(options.ops.begin(), options.ops.end(), op->name) != options.ops.end();
    if (!options.ops.empty() && !named) continue;
    report.ops.push_back(OpSuite(engine, *target, *op, options).run(cases_of(op->name)));
  }
  return report;
}

}  // namespace chiaro
