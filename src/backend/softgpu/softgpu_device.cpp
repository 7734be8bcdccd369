#include "backend/softgpu/softgpu_device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "gpu/profile.h"
#include "ops/disabled_ops.h"
#include "ops/gpu_kernel.h"

namespace chiaro {
namespace {

// A block of memory that remembers which of its bytes were written.
class SoftGpuBuffer final : public StrictBuffer {
 public:
  SoftGpuBuffer(const Device& owner, IsolatedMemory& memory, std::byte* address, int64_t bytes, bool checks)
      : StrictBuffer(owner, memory, address, bytes) {
    if (checks && bytes > 0) written_ = std::make_unique<InitMap>(bytes);
  }
  InitMap* written() const { return written_.get(); }

 private:
  std::unique_ptr<InitMap> written_;
};

struct SoftGpuSegment final : CompiledSegment {
  std::vector<Launch> launches;
  std::vector<std::vector<const std::byte*>> own;  // per launch: its addresses in this device's memory
  Status result;                                   // of the last submit, until wait takes it
};

InitMap* written_of(const BufferRef& ref) {
  return static_cast<const SoftGpuBuffer*>(ref.buffer)->written();
}

// The launch that is being encoded. Dispatches run at once, in order.
class SoftRun final : public GpuRun {
 public:
  SoftRun(SoftGpu& gpu, const SoftGpuDeviceOptions& device, const std::atomic<bool>* cancel)
      : gpu_(gpu), device_(device) {
    options_.checks = device.checks;
    options_.cancel = cancel;
  }

  void begin(const Launch& launch) {
    launch_ = &launch;
    output_bytes_ = 0;
    if (!device_.checks) return;
    if (launch.scratch) poison(launch.scratch, launch.plan->scratch_bytes());
    fresh_ = launch.op->kind == OpKind::compute;
    for (const BufferRef& in : launch.inputs) {
      if (in && in.buffer == launch.output.buffer && in.offset == launch.output.offset) fresh_ = false;  // taken over
    }
  }

  Status dispatch(const GpuDispatch& dispatch) override {
    std::vector<SoftBuffer> buffers;
    for (const GpuOperand& operand : dispatch.buffers) buffers.push_back(bound(operand));
    auto counts = gpu_.run(dispatch, buffers, options_);
    if (!counts.ok()) return std::move(counts).error();
    if (device_.on_dispatch) device_.on_dispatch(dispatch, *counts);
    return {};
  }

  // After the last dispatch: a result that is not written all over is a fault.
  Status finish() const {
    if (!device_.checks || !fresh_ || output_bytes_ == 0) return {};
    if (written_of(launch_->output)->all_written(launch_->output.offset, output_bytes_)) return {};
    return Error{ErrorCode::internal, std::string(launch_->plan->kernel()) + " left a part of its result unwritten",
                 "of " + std::to_string(output_bytes_) + " bytes", "", ""};
  }

 private:
  static void poison(const BufferRef& ref, int64_t bytes) {
    std::memset(ref.address(), 0xFF, static_cast<size_t>(bytes));
    written_of(ref)->mark(ref.offset, bytes, false);
  }

  SoftBuffer bound(const GpuOperand& operand) {
    BufferRef ref;
    switch (operand.kind) {
      case GpuOperand::Kind::none: return {};
      case GpuOperand::Kind::input: ref = launch_->inputs[static_cast<size_t>(operand.index)]; break;
      case GpuOperand::Kind::output: ref = launch_->output; break;
      case GpuOperand::Kind::scratch: ref = launch_->scratch; break;
    }
    if (operand.kind == GpuOperand::Kind::output) spread(operand.offset + operand.bytes);
    SoftBuffer buffer{ref.address() + operand.offset, operand.bytes, nullptr, 0, operand.element_bytes};
    if (device_.checks) {
      buffer.init = written_of(ref);
      buffer.init_offset = ref.offset + operand.offset;
    }
    return buffer;
  }

  // The result reaches so far: what is new of it holds nothing yet.
  void spread(int64_t end) {
    if (end <= output_bytes_) return;
    if (device_.checks && fresh_) {
      poison({launch_->output.buffer, launch_->output.offset + output_bytes_}, end - output_bytes_);
    }
    output_bytes_ = end;
  }

  SoftGpu& gpu_;
  const SoftGpuDeviceOptions& device_;
  SoftOptions options_;
  const Launch* launch_ = nullptr;
  int64_t output_bytes_ = 0;
  bool fresh_ = false;  // the result lies in memory of its own
};

DeviceTraits device_traits(const SoftGpuDeviceOptions& options) {
  DeviceTraits traits;
  traits.name = options.name;
  traits.kind = "softgpu";
  traits.gpu = options.traits;
  traits.threads = options.pool->threads();
  traits.addresses_host = false;
  return traits;
}

class SoftGpuDevice final : public StrictDevice {
 public:
  explicit SoftGpuDevice(SoftGpuDeviceOptions options)
      : StrictDevice(device_traits(options), {}, options.budget_bytes, 0),
        options_(std::move(options)),
        kernels_(gpu_kernel_table()),
        gpu_(gpu_soft_kernels(), options_.traits, *options_.pool) {
    remove_disabled(kernels_, options_.missing_ops);
  }

  std::span<const Kernel> kernels(std::string_view op) const override {
    for (const Kernels& candidates : kernels_) {
      if (candidates.front().op == op) return candidates;
    }
    return {};
  }

  Status accepts(const Call& call) const override {
    for (const MaskEntry& entry : options_.mask) {
      if (!entry.refuses(call)) continue;
      return Error{ErrorCode::unsupported, traits().name + " does not take " + std::string(call.op->name),
                   "its mask has " + entry.text(), "", ""};
    }
    return {};
  }

  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override {
    auto segment = std::make_unique<SoftGpuSegment>();
    for (const Launch& launch : launches) {
      CHIARO_TRY(check_launch(launch, segment->own.emplace_back()));
    }
    segment->launches = std::move(launches);
    return std::unique_ptr<CompiledSegment>(std::move(segment));
  }

  Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) override {
    auto& own = static_cast<SoftGpuSegment&>(segment);
    own.result = run(own, cancel, timer);
    return {};
  }

  Status wait(CompiledSegment& segment) override {
    return std::exchange(static_cast<SoftGpuSegment&>(segment).result, Status{});
  }

 protected:
  std::unique_ptr<Buffer> make_buffer(std::byte* address, int64_t bytes) override {
    return std::make_unique<SoftGpuBuffer>(*this, memory(), address, bytes, options_.checks);
  }

  void copy_landed(Buffer& to, int64_t offset, int64_t bytes) override {
    InitMap* written = static_cast<SoftGpuBuffer&>(to).written();
    if (written != nullptr && bytes > 0) written->mark(offset, bytes, true);
  }

 private:
  Status run(const SoftGpuSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) {
    SoftRun run(gpu_, options_, cancel);
    for (size_t i = 0; i < segment.launches.size(); ++i) {
      const Launch& launch = segment.launches[i];
      CHIARO_TRY(check_live(launch, segment.own[i]));
      const auto start = std::chrono::steady_clock::now();
      run.begin(launch);
      Status status = launch.plan->run(run);
      if (status.ok()) status = run.finish();
      if (!status.ok()) return std::move(status).error().at(launch.op->name).at(launch.label);
      if (cancel != nullptr && cancel->load()) {
        return Error{ErrorCode::cancelled, "stopped on request", "", "", std::string(launch.label)};
      }
      if (timer) timer(i, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return {};
  }

  SoftGpuDeviceOptions options_;
  KernelTable kernels_;
  SoftGpu gpu_;
};

Status read_option(SoftGpuDeviceOptions& options, std::string_view option) {
  const auto refuse = [&](std::string why) {
    return Error{ErrorCode::usage, "\"" + std::string(option) + "\" is no option of a software GPU", std::move(why),
                 "use checks=on, checks=off or no=OP:DTYPE", options.name};
  };
  if (option == "checks=off" || option == "checks=on") {
    options.checks = option == "checks=on";
    return {};
  }
  if (!option.starts_with("no=")) return refuse("");
  // Masks are written as those of isolated devices.
  auto masked = parse_isolated_spec(std::string(kIsolatedPrefix) + "mask," + std::string(option));
  if (!masked.ok()) return refuse(masked.error().why);
  options.mask.insert(options.mask.end(), masked->mask.begin(), masked->mask.end());
  return {};
}

}  // namespace

Result<SoftGpuDeviceOptions> parse_softgpu_spec(std::string_view text) {
  SoftGpuDeviceOptions options;
  std::string_view rest = text;
  const auto next = [&rest] {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  options.name = std::string(next());
  CHIARO_ASSIGN(const gpu::Profile profile,
                gpu::find_profile(std::string_view(options.name).substr(kSoftGpuPrefix.size())));
  options.traits = profile.traits;
  while (!rest.empty()) CHIARO_TRY(read_option(options, next()));
  return options;
}

std::unique_ptr<StrictDevice> make_softgpu_device(SoftGpuDeviceOptions options) {
  return std::make_unique<SoftGpuDevice>(std::move(options));
}

}  // namespace chiaro
