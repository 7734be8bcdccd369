#include "runtime/kernels_docs.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/tensor.h"
#include "gpu/profile.h"
#include "ops/catalogue.h"
#include "ops/gpu_kernel.h"
#include "runtime/engine.h"
#include "runtime/kernels_docs_cases.h"

namespace chiaro {
namespace {

// A call of an op with everything that its kernel's plan() asks for.
struct PreparedCall {
  const OpDef* op = nullptr;
  AttrMap attrs;
  std::vector<TensorDesc> inputs;
  std::vector<bool> present;
  TensorDesc out;
  Cost cost;

  std::vector<Operand> operands() const {
    std::vector<Operand> all;
    for (size_t i = 0; i < inputs.size(); ++i) all.push_back({inputs[i], 64, present[i]});
    return all;
  }
};

Result<PreparedCall> prepared(const BenchCase& c, const std::vector<BenchInput>& inputs, const AttrMap& further) {
  PreparedCall call;
  call.op = find_op(c.op);
  call.attrs = call.op->default_attrs;
  for (const AttrMap* given : {&c.attrs, &further}) {
    for (const auto& [name, value] : *given) {
      for (auto& [attr, slot] : call.attrs) {
        if (attr == name) slot = value;
      }
    }
  }
  for (const BenchInput& in : inputs) {
    call.inputs.push_back(dense(in.index ? DType::i32 : (in.activation ? DType::f16 : DType::f32), in.shape));
    call.present.push_back(true);
  }
  while (call.inputs.size() < call.op->inputs.size() && !call.op->variadic) {
    call.inputs.emplace_back();
    call.present.push_back(false);
  }
  std::vector<const TensorDesc*> descs;
  for (size_t i = 0; i < call.inputs.size(); ++i) descs.push_back(call.present[i] ? &call.inputs[i] : nullptr);
  CHIARO_ASSIGN(call.out, call.op->infer(call.attrs, descs));
  call.cost = call.op->cost(call.attrs, descs, call.out);
  return call;
}

Result<KernelPlan> gpu_plan(const PreparedCall& call, const DeviceTraits& traits) {
  const std::vector<Operand> operands = call.operands();
  for (const Kernels& kernels : gpu_kernel_table()) {
    if (kernels.empty() || kernels.front().op != call.op->name) continue;
    return kernels.front().plan({call.op, &call.attrs, operands, {call.out, 64, true}}, traits);
  }
  return Error{ErrorCode::unsupported, "there is no GPU kernel of " + std::string(call.op->name), "", "", ""};
}

struct RecordedLaunches final : GpuRun {
  std::vector<GpuDispatch> all;
  Status dispatch(const GpuDispatch& one) override {
    all.push_back(one);
    return {};
  }
};

// A call on one profile's GPU, from its launches.
struct Prediction {
  std::vector<std::pair<std::string, int>> kernels;  // with the number of launches
  uint32_t threadgroup_bytes = 0;                    // the most of any launch
  double flops = 0, bytes = 0, seconds = 0;
  double arithmetic = 0, memory = 0, launching = 0;  // seconds, if each were all

  std::string kernels_text() const {
    std::string text;
    for (const auto& [name, count] : kernels) {
      text += (text.empty() ? "" : ", ") + ("`" + name + "`") + (count > 1 ? " x" + std::to_string(count) : "");
    }
    return text;
  }
  std::string_view limit() const {
    if (launching > std::max(arithmetic, memory)) return "launch";
    return arithmetic > memory ? "arithmetic" : "memory";
  }
};

Result<Prediction> predicted(const PreparedCall& call, const gpu::Traits& gpu) {
  CHIARO_ASSIGN(const KernelPlan plan, gpu_plan(call, gpu_device_traits("docs", "softgpu", gpu)));
  RecordedLaunches launches;
  CHIARO_TRY(plan.run(launches));
  Prediction p;
  for (const GpuDispatch& d : launches.all) {
    const auto known = std::find_if(p.kernels.begin(), p.kernels.end(), [&](auto& k) { return k.first == d.kernel; });
    if (known == p.kernels.end()) {
      p.kernels.emplace_back(d.kernel, 1);
    } else {
      ++known->second;
    }
    p.threadgroup_bytes = std::max(p.threadgroup_bytes, d.threadgroup_bytes);
    p.flops += d.flops;
    p.bytes += d.bytes;
    p.seconds += predicted_seconds(d, gpu);
    p.arithmetic += d.flops / (gpu.tflops_f32 * 1e12);
    p.memory += d.bytes / (gpu.bandwidth_gbs * 1e9);
    p.launching += gpu.launch_us * 1e-6;
  }
  return p;
}

// What the software GPU counts.
struct Counted {
  double bytes = 0, matrix_flops = 0;
};

class SmallRuns {
 public:
  static Result<std::unique_ptr<SmallRuns>> create() {
    auto runs = std::make_unique<SmallRuns>();
    EngineOptions options;
    options.devices = {"softgpu:apple7"};
    options.on_dispatch = [counted = &runs->counted_](const GpuDispatch&, const SoftCounts& counts) {
      counted->bytes += counts.bytes_read + counts.bytes_written;
      counted->matrix_flops += counts.matrix_flops;
    };
    CHIARO_ASSIGN(runs->engine_, Engine::create(std::move(options)));
    return runs;
  }

  Result<Counted> run(const PreparedCall& call) {
    Device& device = *engine_->device("softgpu:apple7");
    CHIARO_ASSIGN(const KernelPlan plan, gpu_plan(call, device.traits()));
    Launch launch;
    launch.plan = &plan;
    launch.op = call.op;
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      launch.inputs.emplace_back();
      if (!call.present[i]) continue;
      CHIARO_ASSIGN(auto buffer, device.allocate(call.inputs[i].dense_bytes(), "an input"));
      CHIARO_TRY(device.upload(*buffer, 0, contents(call.inputs[i])));
      launch.inputs.back() = {buffer.get(), 0};
      buffers.push_back(std::move(buffer));
    }
    CHIARO_ASSIGN(const auto output, device.allocate(call.out.dense_bytes(), "an output"));
    CHIARO_ASSIGN(const auto scratch, device.allocate(plan.scratch_bytes(), "scratch"));
    launch.output = call.op->kind == OpKind::inplace ? launch.inputs[0] : BufferRef{output.get(), 0};
    if (plan.scratch_bytes() > 0) launch.scratch = {scratch.get(), 0};
    counted_ = {};
    CHIARO_ASSIGN(const auto segment, device.compile({launch}));
    CHIARO_TRY(device.submit(*segment, nullptr, {}));
    CHIARO_TRY(device.wait(*segment));
    return counted_;
  }

 private:
  static std::vector<std::byte> contents(const TensorDesc& desc) {
    std::vector<std::byte> bytes(static_cast<size_t>(desc.dense_bytes()));
    for (int64_t i = 0; desc.dtype != DType::i32 && i < desc.count(); ++i) {
      store_element(desc.dtype, bytes.data(), i, static_cast<double>(i % 17 - 8) / 8);
    }
    return bytes;
  }

  Counted counted_;
  std::shared_ptr<Engine> engine_;
};

// "1.50"; "0" for nothing.
std::string figure(double value) {
  char text[40];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : (value >= 10 ? "%.1f" : "%.2f"), value);
  return value == 0 ? "0" : text;
}

std::string ratio(double value, double least) {
  return least > 0 ? figure(value / least) : "-";
}

std::string call_text(const BenchCase& c) {
  std::string text = "**" + std::string(c.op) + "**";
  for (const BenchInput& in : c.inputs) {
    if (in.shape.rank() == 1 && c.inputs.size() > 1) continue;  // weights and biases of one dimension
    text += " " + in.shape.text();
  }
  return text;
}

struct Gpus {
  gpu::Traits m1, m3, m4, vm;
};

Result<Gpus> gpus() {
  Gpus all;
  CHIARO_ASSIGN(const gpu::Profile apple7, gpu::find_profile("apple7"));
  CHIARO_ASSIGN(const gpu::Profile apple9, gpu::find_profile("apple9"));
  CHIARO_ASSIGN(const gpu::Profile vm, gpu::find_profile("apple5-vm"));
  all.m1 = apple7.traits;
  all.m3 = all.m4 = apple9.traits;
  all.m4.bandwidth_gbs = 120;  // Apple's figure; the rest of an M4 is taken as an M3's
  all.vm = vm.traits;
  return all;
}

Result<std::string> row(const KernelCall& c, const Gpus& gpus, SmallRuns& runs) {
  CHIARO_ASSIGN(const PreparedCall call, prepared(c.reference, c.reference.inputs, {}));
  CHIARO_ASSIGN(const PreparedCall small, prepared(c.reference, c.small, c.small_attrs));
  CHIARO_ASSIGN(const Prediction m1, predicted(call, gpus.m1));
  CHIARO_ASSIGN(const Prediction m3, predicted(call, gpus.m3));
  CHIARO_ASSIGN(const Prediction m4, predicted(call, gpus.m4));
  CHIARO_ASSIGN(const Prediction vm, predicted(call, gpus.vm));
  CHIARO_ASSIGN(const Counted counted, runs.run(small));
  std::string kernels = m1.kernels_text();
  if (vm.kernels_text() != kernels) kernels += "; without simdgroup operations " + vm.kernels_text();
  std::string flops = ratio(m1.flops, call.cost.flops);
  if (counted.matrix_flops > 0) flops += " (" + ratio(counted.matrix_flops, small.cost.flops) + " in matrices)";
  return "| " + call_text(c.reference) + " | " + kernels + " | " + std::to_string(m1.threadgroup_bytes) + " | " +
         figure(call.cost.flops / 1e9) + " | " + flops + " | " + figure(call.cost.bytes / 1e6) + " | " +
         ratio(m1.bytes, call.cost.bytes) + " | " + ratio(counted.bytes, small.cost.bytes) + " | " +
         figure(m1.seconds * 1e3) + " | " + figure(m3.seconds * 1e3) + " | " + figure(m4.seconds * 1e3) + " | " +
         std::string(m1.limit()) + " |\n";
}

constexpr std::string_view kHead =
    R"(# GPU kernels

Written by the tests; `make docs` writes this page anew. Calls are those of Stable Diffusion 1.5 at 512x512 (with both
sides of guidance) and of its decoder, in f16. **No time on this page was measured**: milliseconds are predicted from
the launches that `plan()` writes down and the figures in `src/gpu/profiles` (M1: `apple7`; M3: `apple9`; M4: `apple9`
with 120 GB/s), as the launch cost plus the longer of arithmetic and memory, at full rates. A real GPU is slower.

- kernels: on `apple7`, with the number of launches; where a GPU lacks simdgroup operations, those in their place.
- threadgroup: bytes of threadgroup memory of the launch that takes most.
- GFLOP, MB: the least that the op needs, by its `cost()`: every input read once, the result written once.
- FLOP ratio, byte ratio: what the launches declare over that least; "in matrices": what the software GPU counted in
  simdgroup matrices on a small call over the least of that call.
- counted: bytes that the software GPU saw its threads read and write on a small call (all under its checks), over the
  least of that call. Threads that read the same bytes count each time, as if there were no cache; memory that a GPU's
  caches serve is in it. 1 is the best.
- limit: what takes longest on an M1.

| call | kernels | threadgroup | GFLOP | FLOP ratio | MB | byte ratio | counted | M1 ms | M3 ms | M4 ms | limit |
|---|---|---|---|---|---|---|---|---|---|---|---|
)";

}  // namespace

Result<std::string> kernels_markdown() {
  CHIARO_ASSIGN(const Gpus all, gpus());
  CHIARO_ASSIGN(const auto runs, SmallRuns::create());
  std::string page(kHead);
  for (const KernelCall& c : kernel_calls()) {
    auto line = row(c, all, *runs);
    if (!line.ok()) return std::move(line).error().at(c.reference.op);
    page += *line;
  }
  return page;
}

}  // namespace chiaro
