#include "backend/metal/metal_device.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "backend/launch_checks.h"
#include "backend/metal/metal_discovery.h"
#include "backend/metal/metal_error.h"
#include "backend/metal/metal_segment.h"
#include "backend/metal/metal_traits.h"
#include "backend/metal/metal_transfer.h"
#include "ops/disabled_ops.h"

namespace chiaro {
namespace {

// A command buffer may be predicted to take this part of the watchdog's time: predictions are rough, and other
// programs share the GPU. It also bounds how late a cancel is noticed.
constexpr double kPartOfWatchdog = 0.05;

// What a device is made of. Members are destroyed in the reverse order, the GPU last.
struct Parts {
  MetalDeviceOptions options;
  std::shared_ptr<Log> log;
  NS::SharedPtr<MTL::Device> gpu;
  NS::SharedPtr<MTL::CommandQueue> queue;
  NS::SharedPtr<MTL::Buffer> unused;  // bound where a kernel touches nothing
  std::vector<MetalFeatureSwitch> switches;
};

// Asks kernels for pipelines without encoding anything.
class PipelineCheck final : public GpuRun {
 public:
  explicit PipelineCheck(MetalKernels& kernels) : kernels_(kernels) {}
  Status dispatch(const GpuDispatch& dispatch) override {
    CHIARO_ASSIGN(const MTL::ComputePipelineState* state, kernels_.pipeline(dispatch));
    (void)state;
    return {};
  }

 private:
  MetalKernels& kernels_;
};

Error out_of_range(std::string_view what) {
  return {ErrorCode::internal, std::string(what) + " is past the end of a buffer", "", "", ""};
}

MetalDeviceFacts make_facts(Parts& parts, const gpu::Traits& advertised) {
  MetalDeviceFacts facts;
  facts.gpu = text_of(parts.gpu->name());
  facts.profile = metal_profile_of(*parts.gpu.get());
  facts.features = metal_feature_states(advertised, parts.switches);
  facts.unified_memory = parts.gpu->hasUnifiedMemory();
  facts.private_storage = parts.options.private_storage || !facts.unified_memory;
  facts.budget_bytes = parts.options.budget_bytes > 0 ? parts.options.budget_bytes
                                                      : static_cast<int64_t>(parts.gpu->recommendedMaxWorkingSetSize());
  const int64_t asked = parts.options.largest_buffer_bytes;
  facts.largest_buffer_bytes = asked > 0 ? std::min(asked, advertised.max_buffer_bytes) : advertised.max_buffer_bytes;
  return facts;
}

DeviceTraits make_traits(const Parts& parts, const MetalDeviceFacts& facts, gpu::Traits advertised) {
  // Of a kernel's operand: where host and GPU share memory, any arena can be reached through views.
  advertised.max_buffer_bytes =
      facts.private_storage ? facts.largest_buffer_bytes : largest_viewed_bytes(facts.largest_buffer_bytes);
  DeviceTraits traits = gpu_device_traits(parts.options.name, "metal", with_metal_features(advertised, parts.switches));
  // Large weights stay where their files are mapped.
  traits.addresses_host = !facts.private_storage;
  return traits;
}

MetalCutting make_cutting(const MetalDeviceOptions& options, const gpu::Traits& traits) {
  MetalCutting cutting;
  cutting.seconds =
      options.command_buffer_seconds > 0 ? options.command_buffer_seconds : traits.watchdog_seconds * kPartOfWatchdog;
  return cutting;
}

class MetalDevice final : public MetalDeviceBase {
 public:
  MetalDevice(Parts parts, const gpu::Traits& advertised)
      : parts_(std::move(parts)),
        facts_(make_facts(parts_, advertised)),
        traits_(make_traits(parts_, facts_, advertised)),
        cutting_(make_cutting(parts_.options, advertised)),
        residency_(*parts_.gpu.get(), *parts_.queue.get()),
        queue_{*parts_.gpu.get(), *parts_.queue.get(), residency_, parts_.options.name},
        memory_(*parts_.gpu.get(), residency_,
                {parts_.options.name, !facts_.private_storage, facts_.budget_bytes, facts_.largest_buffer_bytes}),
        transfer_(queue_),
        kernels_(*parts_.gpu.get(), parts_.options.name,
                 parts_.options.texts ? std::span<const GpuMetalText>(*parts_.options.texts) : gpu_metal_texts(),
                 *parts_.log),
        table_(gpu_kernel_table()) {
    facts_.residency_set = residency_.present();
    remove_disabled(table_, parts_.options.missing_ops);
  }

  const DeviceTraits& traits() const override { return traits_; }
  const MetalDeviceFacts& facts() const override { return facts_; }

  std::span<const Kernel> kernels(std::string_view op) const override {
    for (const Kernels& candidates : table_) {
      if (candidates.front().op == op) return candidates;
    }
    return {};
  }

  // A call is taken only if its pipelines are there: kernels that Apple's compiler refuses are known before a plan is
  // made with them, and their ops run elsewhere.
  Status accepts(const Call& call) const override {
    for (const MaskEntry& entry : parts_.options.mask) {
      if (!entry.refuses(call)) continue;
      return Error{ErrorCode::unsupported, traits_.name + " does not take " + std::string(call.op->name),
                   "its mask has " + entry.text(), "", ""};
    }
    for (const Kernel& kernel : kernels(call.op->name)) {
      const auto plan = kernel.plan(call, traits_);
      if (!plan.ok()) continue;
      PipelineCheck check(kernels_);
      return plan->run(check);
    }
    return {};  // why no kernel takes it is for the kernels to say
  }

  Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) override {
    return memory_.allocate(*this, bytes, what);
  }
  int64_t free_bytes() const override { return memory_.free_bytes(); }
  int64_t budget_bytes() const override { return memory_.budget_bytes(); }

  // Small tensors, and what Metal does not take where it lies, are copied.
  Result<std::unique_ptr<Buffer>> wrap(std::span<const std::byte> host, std::string_view what) override {
    if (auto wrapped = memory_.wrap(*this, host)) return wrapped;
    CHIARO_ASSIGN(auto buffer, allocate(static_cast<int64_t>(host.size()), what));
    CHIARO_TRY(upload(*buffer, 0, host));
    return buffer;
  }

  Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) override {
    CHIARO_TRY(check_own(to, offset, static_cast<int64_t>(from.size()), "the target of an upload"));
    return transfer_.upload(static_cast<MetalBuffer&>(to), offset, from);
  }
  Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) override {
    CHIARO_TRY(check_own(from, offset, static_cast<int64_t>(to.size()), "the source of a download"));
    return transfer_.download(to, const_cast<MetalBuffer&>(static_cast<const MetalBuffer&>(from)), offset);
  }
  Status copy_from(BufferRef to, BufferRef from, int64_t bytes) override {
    CHIARO_TRY(check_own(*to.buffer, to.offset, bytes, "the target of a copy"));
    CHIARO_TRY(check_own(*from.buffer, from.offset, bytes, "the source of a copy"));
    return transfer_.copy(static_cast<MetalBuffer&>(*to.buffer), to.offset, static_cast<MetalBuffer&>(*from.buffer),
                          from.offset, bytes);
  }

  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override {
    for (const Launch& launch : launches) CHIARO_TRY(check_operands(*this, launch));
    const MetalPool pool;
    CHIARO_ASSIGN(MetalCommands commands,
                  prepare_commands(launches, kernels_, traits_gpu(), *parts_.unused.get(), cutting_));
    auto fence = NS::TransferPtr(parts_.gpu->newFence());
    if (!fence) return metal_nil(traits_.name, "fence");
    return std::unique_ptr<CompiledSegment>(std::make_unique<MetalSegment>(std::move(commands), std::move(fence)));
  }

  Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) override {
    auto& own = static_cast<MetalSegment&>(segment);
    if (own.run) (void)own.run->wait();
    own.timer = timer;
    own.run = std::make_shared<MetalRun>(queue_, own.commands, *own.fence.get(), cancel, static_cast<bool>(timer));
    own.run->start();
    return {};
  }

  // Timings are told here, on the caller's thread.
  Status wait(CompiledSegment& segment) override {
    auto& own = static_cast<MetalSegment&>(segment);
    if (!own.run) return {};
    const std::shared_ptr<MetalRun> run = std::exchange(own.run, nullptr);
    const LaunchTimer timer = std::exchange(own.timer, nullptr);
    CHIARO_TRY(run->wait());
    if (!timer) return {};
    for (size_t i = 0; i < run->seconds().size(); ++i) {
      timer(own.commands.steps[own.commands.launch_cuts[i]].launch, run->seconds()[i]);
    }
    return {};
  }

 private:
  gpu::Traits traits_gpu() const { return gpu_traits(traits_); }

  Status check_own(const Buffer& buffer, int64_t offset, int64_t bytes, const std::string& what) const {
    if (&buffer.owner() != this) return foreign_memory(*this, what, buffer, nullptr);
    if (offset < 0 || offset + bytes > buffer.bytes()) return out_of_range(what);
    return {};
  }

  Parts parts_;
  MetalDeviceFacts facts_;
  DeviceTraits traits_;
  MetalCutting cutting_;
  MetalResidency residency_;
  MetalQueue queue_;
  MetalMemory memory_;
  MetalTransfer transfer_;
  mutable MetalKernels kernels_;
  KernelTable table_;
};

std::string features_of(const MetalDeviceOptions& options) {
  if (options.features) return *options.features;
  const char* const text = std::getenv(kMetalFeaturesVariable);
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace

Result<std::unique_ptr<Device>> make_metal_device(MetalDeviceOptions options) {
  const MetalPool pool;
  options.features = features_of(options);
  Parts parts;
  CHIARO_ASSIGN(parts.switches, parse_metal_features(*options.features));
  CHIARO_ASSIGN(parts.gpu, find_metal_device(options));
  parts.queue = NS::TransferPtr(parts.gpu->newCommandQueue());
  if (!parts.queue) return metal_nil(options.name, "command queue");
  parts.unused = NS::TransferPtr(
      parts.gpu->newBuffer(256, MTL::ResourceStorageModeShared | MTL::ResourceHazardTrackingModeUntracked));
  if (!parts.unused) return metal_nil(options.name, "buffer");
  parts.log = options.log ? options.log : Log::silent();
  const gpu::Traits advertised = metal_traits(*parts.gpu.get());
  parts.options = std::move(options);
  return std::unique_ptr<Device>(std::make_unique<MetalDevice>(std::move(parts), advertised));
}

}  // namespace chiaro
