#include "checks.h"

#include <algorithm>
#include <ctime>
#include <numeric>
#include <set>
#include <utility>

#include "gpu/part_of_variants.h"
#include "ops/catalogue.h"

namespace chiaro::mutation {
namespace {

constexpr double kLaunchSeconds = 10;  // of real time; a mutant's endless loop ends here

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

Devices::Devices() {
  for (const std::string& profile : profiles_) {
    all_.push_back(std::make_unique<SoftTestDevice>(*gpu::find_profile(profile), pool_));
    all_.back()->options.real_seconds = kLaunchSeconds;
  }
}

const std::vector<SelfTestChoice>& Devices::selftest(size_t i) {
  while (choices_.size() < all_.size()) choices_.push_back(choose_selftest(*all_[choices_.size()]));
  return choices_[i];
}

Result<std::unique_ptr<Checks>> Checks::make(Devices& devices, const std::vector<std::string>& ops, Choice choice) {
  const double start = processor_seconds();
  auto checks = std::make_unique<Checks>();
  checks->devices_ = &devices;
  for (const std::string& name : ops) {
    const OpDef* op = find_op(name);
    if (op == nullptr) return Error{ErrorCode::usage, "there is no op \"" + name + "\"", "", "", ""};
    if (choice == Choice::selftest) {
      checks->add_selftest(*op);
    } else {
      checks->add_variants(*op, choice == Choice::all);
    }
  }
  std::stable_sort(checks->checks_.begin(), checks->checks_.end(),
                   [](const Check& a, const Check& b) { return a.late != b.late ? b.late : a.work < b.work; });
  CHIARO_TRY(checks->expect_all());
  checks->order_.resize(checks->size());
  std::iota(checks->order_.begin(), checks->order_.end(), size_t{0});
  checks->seconds_ = processor_seconds() - start;
  return checks;
}

void Checks::add_selftest(const OpDef& op) {
  for (size_t device = 0; device < devices_->all().size(); ++device) {
    for (const SelfTestChoice& own : devices_->selftest(device)) {
      if (own.op != &op) continue;
      for (const Variant& v : own.checks) add_check(op, v, device, false);
    }
  }
}

void Checks::add_variants(const OpDef& op, bool all) {
  const std::vector<Case>& cases = cases_.emplace_back(cases_of(op.name));
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Variant> variants = expand(cases[i], static_cast<int>(i));
    for (size_t device = 0; device < devices_->all().size(); ++device) {
      std::set<std::string> ordinary;
      for (const Variant& v : testing::part_of_variants(variants, devices_->profile(device))) {
        ordinary.insert(v.text());
        add_check(op, v, device, false);
      }
      for (const Variant& v : variants) {
        if (all && ordinary.count(v.text()) == 0) add_check(op, v, device, true);
      }
    }
  }
}

void Checks::add_check(const OpDef& op, const Variant& v, size_t device, bool late) {
  const auto out = v.infer();
  if (!out.ok()) return;
  const auto kernels = devices_->all()[device]->kernels(op.name);
  const auto taken = [&](const Kernel& kernel) { return plan_launch(*devices_->all()[device], kernel, v, *out).ok(); };
  if (std::none_of(kernels.begin(), kernels.end(), taken)) return;
  checks_.push_back({&op, device, work_of(v, *out), v, nullptr, late, 0});
}

Status Checks::expect_all() {
  std::map<std::string, std::shared_ptr<const Expectation>> known;
  for (Check& check : checks_) {
    auto& expected = known[std::to_string(check.variant.case_index) + check.variant.text()];
    if (expected == nullptr) {
      CHIARO_ASSIGN(const TensorDesc out, check.variant.infer());
      CHIARO_ASSIGN(Expectation made, expectation(check.variant, out));
      expected = std::make_shared<const Expectation>(std::move(made));
    }
    check.expected = expected;
  }
  return {};
}

std::optional<std::string> Checks::run(const Check& check) {
  const Variant& v = check.variant;
  SoftTestDevice& device = *devices_->all()[check.device];
  device.counts.clear();
  for (const Kernel& kernel : device.kernels(check.op->name)) {
    const VariantRun run = launch_variant(device, kernel, v, check.expected->out, check.expected->values);
    if (run.refused) continue;
    if (auto wrong = wrong_with(v, *check.expected, run, kernel.name)) return wrong;
  }
  return std::nullopt;
}

std::optional<Failure> Checks::failure() {
  for (const size_t i : order_) {
    auto wrong = run(checks_[i]);
    if (!wrong) continue;
    const int mutant = std::exchange(chiaro_gpu_mutant, 0);
    if (auto without = run(checks_[i])) return Failure{i, kWithoutMutant + *without};
    chiaro_gpu_mutant = mutant;
    return Failure{i, std::move(*wrong)};
  }
  return std::nullopt;
}

void Checks::credit(size_t check) {
  if (check >= checks_.size()) return;
  ++checks_[check].caught;
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return checks_[a].caught > checks_[b].caught; });
}

}  // namespace chiaro::mutation
