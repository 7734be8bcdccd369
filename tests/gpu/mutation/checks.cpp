#include "checks.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "ops/catalogue.h"

namespace chiaro::mutation {
namespace {

constexpr double kLaunchSeconds = 10;  // of real time; a mutant's endless loop ends here

constexpr size_t kStep = 6;  // of the variants of a case, for a first look

constexpr double kFirstLook = 2;  // of processor time, for a first look

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

Devices::Devices() {
  for (const char* profile : {"apple7", "apple5-vm"}) {
    all_.push_back(std::make_unique<SoftTestDevice>(*gpu::find_profile(profile), pool_));
    all_.back()->options.real_seconds = kLaunchSeconds;
  }
}

const std::vector<SelfTestChoice>& Devices::selftest(size_t i) {
  while (choices_.size() < all_.size()) choices_.push_back(choose_selftest(*all_[choices_.size()]));
  return choices_[i];
}

Result<std::unique_ptr<OpChecks>> OpChecks::make(Devices& devices, const std::string& op, Choice choice) {
  auto checks = std::make_unique<OpChecks>();
  checks->devices_ = &devices;
  checks->op_ = find_op(op);
  if (checks->op_ == nullptr) return Error{ErrorCode::usage, "there is no op \"" + op + "\"", "", "", ""};
  checks->cases_ = cases_of(op);
  if (choice == Choice::selftest) {
    checks->add_selftest();
  } else {
    checks->add_variants(choice == Choice::some ? kStep : 1);
  }
  if (choice != Choice::all) CHIARO_TRY(checks->run_without_mutant(choice == Choice::some ? kFirstLook : 1e30));
  const auto dearer = [](const Check& a, const Check& b) { return a.work > b.work; };
  if (choice == Choice::all) std::stable_sort(checks->checks_.begin(), checks->checks_.end(), dearer);
  return checks;
}

void OpChecks::add_selftest() {
  for (size_t device = 0; device < devices_->all().size(); ++device) {
    for (const SelfTestChoice& own : devices_->selftest(device)) {
      if (own.op != op_) continue;
      for (const Variant& v : own.checks) add_check(v, device);
    }
  }
}

void OpChecks::add_variants(size_t step) {
  for (size_t i = 0; i < cases_.size(); ++i) {
    size_t number = i;
    for (const Variant& v : expand(cases_[i], static_cast<int>(i))) {
      if (number++ % step != 0) continue;
      for (size_t device = 0; device < devices_->all().size(); ++device) add_check(v, device);
    }
  }
}

void OpChecks::add_check(const Variant& v, size_t device) {
  const auto out = v.infer();
  if (!out.ok()) return;
  const auto kernels = devices_->all()[device]->kernels(op_->name);
  const auto taken = [&](const Kernel& kernel) { return plan_launch(*devices_->all()[device], kernel, v, *out).ok(); };
  if (std::none_of(kernels.begin(), kernels.end(), taken)) return;
  checks_.push_back({device, work_of(v, *out), v});
}

Status OpChecks::run_without_mutant(double most_seconds) {
  const auto cheaper = [](const Check& a, const Check& b) { return a.work < b.work; };
  std::stable_sort(checks_.begin(), checks_.end(), cheaper);
  for (size_t i = 0; i < checks_.size(); ++i) {
    Check& check = checks_[i];
    const double start = processor_seconds();
    if (auto wrong = run(check)) return Error{ErrorCode::internal, kWithoutMutant + *wrong, "", "", ""};
    seconds_ += processor_seconds() - start;
    if (seconds_ > most_seconds) checks_.resize(i + 1);
  }
  return {};
}

std::optional<std::string> OpChecks::run(Check& check) {
  const Variant& v = check.variant;
  auto& expected = known_[v.text()];
  if (expected == nullptr) {
    const auto out = v.infer();
    auto made = out.ok() ? expectation(v, *out) : Result<Expectation>(out.error());
    if (!made.ok()) return v.text() + ": " + made.error().format();
    expected = std::make_shared<const Expectation>(std::move(*made));
  }
  SoftTestDevice& device = *devices_->all()[check.device];
  device.counts.clear();
  for (const Kernel& kernel : device.kernels(op_->name)) {
    const VariantRun run = launch_variant(device, kernel, v, expected->out, expected->values);
    if (run.refused) continue;
    if (auto wrong = wrong_with(v, *expected, run, kernel.name)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> OpChecks::failure() {
  for (Check& check : checks_) {
    auto wrong = run(check);
    if (!wrong) continue;
    const int mutant = std::exchange(chiaro_gpu_mutant, 0);
    if (auto without = run(check)) return kWithoutMutant + *without;
    chiaro_gpu_mutant = mutant;
    return wrong;
  }
  return std::nullopt;
}

}  // namespace chiaro::mutation
