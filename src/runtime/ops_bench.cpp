#include "runtime/ops_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>

#include "core/memory.h"
#include "core/tensor.h"
#include "ops/catalogue.h"
#include "ops/cpu_blocks/ceilings.h"
#include "ops/cpu_blocks/stream_copy.h"
#include "runtime/ops_bench_cases.h"

namespace chiaro {
namespace {

constexpr int64_t kPattern = 4099;  // a prime: no power-of-two period

TensorDesc described(const BenchInput& in, DType activation) {
  TensorDesc desc = dense(in.index ? DType::i32 : (in.activation ? activation : DType::f32), in.shape);
  int64_t step = 1;
  for (size_t i = in.order.size(); i-- > 0;) {
    const auto d = static_cast<int>(in.order[i]);
    desc.strides[d] = step;
    step *= desc.shape[d];
  }
  return desc;
}

// Fills host bytes with values between -1 and 1 (zeros for indices), by repeating a short pattern.
std::vector<std::byte> contents(const TensorDesc& desc) {
  const auto unit = static_cast<size_t>(unit_bytes(desc.dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(desc.count()) * unit);
  if (desc.dtype == DType::i32) return bytes;
  const int64_t first = std::min(kPattern, desc.count());
  for (int64_t i = 0; i < first; ++i) {
    store_element(desc.dtype, bytes.data(), i, static_cast<double>((i * 2654435761) % 2001 - 1000) / 1000);
  }
  for (size_t at = static_cast<size_t>(first) * unit; at < bytes.size(); at += static_cast<size_t>(first) * unit) {
    std::copy_n(bytes.begin(), std::min(static_cast<size_t>(first) * unit, bytes.size() - at),
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return bytes;
}

class Timing {
 public:
  Timing(Device& device, ThreadPool& pool, const BenchCase& c, const OpsBenchOptions& options)
      : device_(device), pool_(pool), case_(c), options_(options), op_(*find_op(c.op)) {
    result_.op = c.op;
  }

  OpTiming run() {
    if (auto status = measure(); !status.ok()) result_.error = status.error().what + ": " + status.error().why;
    return std::move(result_);
  }

 private:
  Status measure() {
    AttrMap attrs = op_.default_attrs;
    for (const auto& [name, value] : case_.attrs) {
      bool known = false;
      for (auto& [attr, slot] : attrs) {
        if (attr == name) slot = value;
        known = known || attr == name;
      }
      if (!known) return Error{ErrorCode::internal, "the benchmark", "the op has no attribute " + name, "", ""};
    }
    std::vector<const TensorDesc*> pointers;
    for (const BenchInput& in : case_.inputs) descs_.push_back(described(in, options_.dtype));
    while (descs_.size() < op_.inputs.size() && !op_.variadic) descs_.emplace_back();
    for (size_t i = 0; i < descs_.size(); ++i) pointers.push_back(given(i) ? &descs_[i] : nullptr);
    CHIARO_ASSIGN(out_, op_.infer(attrs, pointers));
    describe(attrs);
    const Cost cost = op_.cost(attrs, pointers, out_);
    result_.bytes = cost.bytes;
    if (case_.reads_twice && descs_[0].dense_bytes() >= kStreamBytes) {
      result_.bytes += static_cast<double>(descs_[0].dense_bytes());
    }
    result_.flops = cost.flops;
    CHIARO_ASSIGN(const KernelPlan plan, first_plan(attrs));
    result_.kernel = plan.kernel();
    return options_.dry ? Status{} : time(plan);
  }

  bool given(size_t i) const { return i < case_.inputs.size() && case_.inputs[i].shape.rank() > 0; }

  void describe(const AttrMap& attrs) {
    for (size_t i = 0; i < case_.inputs.size(); ++i) {
      result_.what += (i == 0 ? "" : " ") + (given(i) ? descs_[i].text() : "_");
    }
    for (const auto& [name, value] : attrs) {
      const AttrValue* usual = find_attr(op_.default_attrs, name);
      if (usual != nullptr && !(*usual == value)) result_.what += " " + name + "=" + attr_text(value);
    }
  }

  Result<KernelPlan> first_plan(const AttrMap& attrs) {
    std::vector<Operand> operands;
    for (size_t i = 0; i < descs_.size(); ++i) {
      operands.push_back({descs_[i], 64, given(i), given(i) && case_.inputs[i].weight});
    }
    const Call call{&op_, &attrs, operands, {out_, 64, true}};
    Error error{ErrorCode::unsupported, "not run", "no kernel on this device", "", ""};
    for (const Kernel& kernel : device_.kernels(op_.name)) {
      auto plan = kernel.plan(call, device_.traits());
      if (plan.ok()) return plan;
      error = std::move(plan).error();
    }
    return error;
  }

  Status time(const KernelPlan& plan) {
    Launch launch;
    launch.plan = &plan;
    launch.op = &op_;
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (size_t i = 0; i < descs_.size(); ++i) {
      if (!given(i)) {
        launch.inputs.emplace_back();
        continue;
      }
      CHIARO_ASSIGN(auto buffer, input(plan, i));
      launch.inputs.push_back({buffer.get(), 0});
      buffers.push_back(std::move(buffer));
    }
    CHIARO_ASSIGN(auto output, device_.allocate(out_.dense_bytes(), "a benchmark's output"));
    CHIARO_ASSIGN(auto scratch, device_.allocate(plan.scratch_bytes(), "a benchmark's scratch"));
    launch.output = op_.kind == OpKind::inplace ? launch.inputs[0] : BufferRef{output.get(), 0};
    launch.scratch = {scratch.get(), 0};
    CHIARO_ASSIGN(auto segment, device_.compile({launch}));
    return repeat(*segment);
  }

  // Input i, in the form that the kernel asked for.
  Result<std::unique_ptr<Buffer>> input(const KernelPlan& plan, size_t i) {
    const std::vector<std::byte> bytes = contents(descs_[i]);
    std::span<const std::byte> form = bytes;
    Block packed;
    if (plan.packed().input == static_cast<int>(i)) {
      const auto size = static_cast<size_t>(plan.packed().bytes);
      CHIARO_ASSIGN(packed, Block::make(std::make_shared<SystemAllocator>(), size, "a benchmark's packed weight"));
      CHIARO_TRY(plan.pack(bytes.data(), packed.data(), pool_, nullptr));
      form = {packed.data(), size};
    }
    CHIARO_ASSIGN(auto buffer, device_.allocate(static_cast<int64_t>(form.size()), "a benchmark's input"));
    CHIARO_TRY(device_.upload(*buffer, 0, form));
    return buffer;
  }

  Status repeat(CompiledSegment& segment) {
    using Clock = std::chrono::steady_clock;
    result_.seconds = std::numeric_limits<double>::infinity();
    const auto begin = Clock::now();
    for (int i = 0; i < 4 || std::chrono::duration<double>(Clock::now() - begin).count() < options_.seconds_per_case;
         ++i) {
      const auto start = Clock::now();
      CHIARO_TRY(device_.submit(segment, nullptr, {}));
      CHIARO_TRY(device_.wait(segment));
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (i > 0) result_.seconds = std::min(result_.seconds, seconds);  // the first run touches fresh pages
    }
    return {};
  }

  Device& device_;
  ThreadPool& pool_;
  const BenchCase& case_;
  const OpsBenchOptions& options_;
  const OpDef& op_;
  std::vector<TensorDesc> descs_;
  TensorDesc out_;
  OpTiming result_;
};

}  // namespace

double OpsBench::roof_fraction(const OpTiming& t) const {
  const double memory = copy_gbs > 0 ? t.bytes / (copy_gbs * 1e9) : 0;
  const double arithmetic = peak_gflops > 0 ? t.flops / (peak_gflops * 1e9) : 0;
  return t.seconds > 0 ? std::max(memory, arithmetic) / t.seconds : 0;
}

std::string OpsBench::ceilings() const {
  char line[160];
  std::snprintf(line, sizeof line,
                "%d threads: memcpy %.1f GB/s, copies past the caches %.1f GB/s, multiply-add peak %.0f GFLOP/s\n",
                threads, copy_gbs, stream_gbs, peak_gflops);
  return line;
}

std::string OpsBench::markdown() const {
  char line[400];
  std::string s =
      ceilings() + "\n| op | size | kernel | ms | GB/s | GFLOP/s | % of roof |\n|---|---|---|---|---|---|---|\n";
  for (const OpTiming& t : timings) {
    if (!t.error.empty()) continue;
    std::snprintf(line, sizeof line, "| %s | `%s` | %s | %.3f | %.1f | %.1f | %.0f |\n", t.op.c_str(), t.what.c_str(),
                  t.kernel.c_str(), t.seconds * 1e3, t.bytes / t.seconds / 1e9, t.flops / t.seconds / 1e9,
                  100 * roof_fraction(t));
    s += line;
  }
  return s;
}

std::string OpsBench::text() const {
  char line[400];
  std::string s = ceilings();
  for (const OpTiming& t : timings) {
    if (!t.error.empty()) {
      s += t.op + " " + t.what + ": " + t.error + "\n";
      continue;
    }
    std::snprintf(line, sizeof line, "%-18s %9.3f ms %7.1f GB/s %8.1f GFLOP/s %4.0f %% of roof  %s\n", t.op.c_str(),
                  t.seconds * 1e3, t.bytes / t.seconds / 1e9, t.flops / t.seconds / 1e9, 100 * roof_fraction(t),
                  t.what.c_str());
    s += line;
  }
  return s;
}

namespace {

// The ceilings are the best of several measurements spread over the run: whatever else the machine does can only make
// a measurement smaller.
void measure_ceilings(ThreadPool& pool, OpsBench& bench) {
  bench.copy_gbs = std::max(bench.copy_gbs, measure_copy_bandwidth_gbs(pool));
  bench.stream_gbs = std::max(bench.stream_gbs, measure_copy_bandwidth_gbs(pool, true));
  bench.peak_gflops = std::max(bench.peak_gflops, measure_fma_peak_gflops(pool));
}

}  // namespace

Result<OpsBench> bench_ops(Engine& engine, std::string_view device, const OpsBenchOptions& options) {
  Device* target = engine.device(device);
  if (target == nullptr) {
    return Error{ErrorCode::usage, "there is no device \"" + std::string(device) + "\"", "", "", ""};
  }
  for (const std::string& name : options.ops) {
    if (find_op(name) == nullptr) return Error{ErrorCode::usage, "there is no op \"" + name + "\"", "", "", ""};
  }
  OpsBench bench;
  bench.threads = engine.pool().threads();
  constexpr size_t kCasesBetweenCeilings = 6;
  for (const BenchCase& c : bench_cases()) {
    const bool named = std::find(options.ops.begin(), options.ops.end(), c.op) != options.ops.end();
    if ((options.ops.empty() || named) && find_op(c.op) != nullptr) {
      if (!options.dry && bench.timings.size() % kCasesBetweenCeilings == 0) measure_ceilings(engine.pool(), bench);
      bench.timings.push_back(Timing(*target, engine.pool(), c, options).run());
    }
  }
  if (!options.dry) measure_ceilings(engine.pool(), bench);
  return bench;
}

}  // namespace chiaro
