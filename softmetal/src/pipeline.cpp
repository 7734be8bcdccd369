// Compute pipelines and residency sets.
#include <algorithm>

#include "bodies.h"

namespace softmetal::detail {
namespace {

struct PipelineDescriptorBody final : Body {
  static constexpr const char* kType = "MTL::ComputePipelineDescriptor";
  const char* type() const override { return kType; }
  std::unique_ptr<Body> copied() const override {
    auto copy = std::make_unique<PipelineDescriptorBody>();
    copy->label = label;
    copy->function = Owned(function.get());
    copy->most_threads = most_threads;
    copy->whole_simdgroups = whole_simdgroups;
    copy->indirect = indirect;
    return copy;
  }
  Owned function;
  NS::UInteger most_threads = 0;
  bool whole_simdgroups = false, indirect = false;
};

// Why that GPU cannot run the kernel, or an empty text.
std::string refusal(const DeviceBody& device, const FunctionBody& function) {
  if (!function.missing.empty()) return function.missing;
  const chiaro::gpu::Traits& traits = device.gpu->traits();
  const auto& facts = function.kernel.checked->facts;
  uint32_t lacks = 0;
  if (!traits.simd_reduce) lacks |= chiaro::kGpuNeedsSimdReduce;
  if (!traits.simd_matrix) lacks |= chiaro::kGpuNeedsSimdMatrix;
  if ((facts.needs & lacks) != 0) {
    return "it needs " + chiaro::gpu_needs_text(facts.needs & lacks) + ", which " + device.profile.name + " lacks";
  }
  if (static_cast<int64_t>(facts.group_bytes) > traits.threadgroup_bytes) {
    return "it takes " + std::to_string(facts.group_bytes) + " bytes of threadgroup memory; " + device.profile.name +
           " has " + std::to_string(traits.threadgroup_bytes);
  }
  return "";
}

MTL::ComputePipelineState* new_pipeline(DeviceBody* device, const void* function, NS::UInteger most_threads,
                                        const std::string& label, NS::Error** error, const char* call) {
  if (device == nullptr) return nullptr;
  const auto* body = body_of<FunctionBody>(function, call, "the function");
  if (body == nullptr || !same_device(*body, *device, call, "the function")) return nullptr;
  std::string why = fails(Call::new_pipeline) ? "a failure was asked for" : refusal(*device, *body);
  const auto limit = static_cast<NS::UInteger>(device->gpu->traits().max_threads);
  if (most_threads > limit) {
    why = std::to_string(most_threads) + " threads a threadgroup; the device has " + std::to_string(limit);
  }
  if (!why.empty()) {
    give_error(error, make_error(kPipelineDomain, 3, "no pipeline of kernel '" + body->name + "'", std::move(why)));
    return nullptr;
  }
  auto data = std::make_shared<PipelineData>();
  data->source = body->source;
  data->kernel = body->kernel;
  data->name = body->name;
  data->label = label;
  data->constants = body->constants;
  data->most_threads = most_threads == 0 ? limit : most_threads;
  auto pipeline = std::make_unique<PipelineBody>(*device);
  pipeline->data = std::move(data);
  return make<MTL::ComputePipelineState>(std::move(pipeline));
}

}  // namespace

chiaro::gpu::soft::Slot const* find_slot(const Kernel& kernel, NS::UInteger index) {
  for (const auto& slot : kernel.checked->slots) {
    if (static_cast<NS::UInteger>(slot.slot) == index) return &slot;
  }
  return nullptr;
}

uint64_t ResidencySetBody::bytes() const {
  const std::lock_guard lock(mutex);
  uint64_t sum = 0;
  for (const auto& member : committed) sum += member.second;
  return sum;
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::Call;
using softmetal::FaultKind;

ComputePipelineDescriptor* ComputePipelineDescriptor::alloc() {
  return make<ComputePipelineDescriptor>(std::make_unique<PipelineDescriptorBody>());
}
ComputePipelineDescriptor* ComputePipelineDescriptor::init() {
  return this;
}
Function* ComputePipelineDescriptor::computeFunction() const {
  const auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::computeFunction");
  return body == nullptr ? nullptr : body->function.as<Function>();
}
NS::String* ComputePipelineDescriptor::label() const {
  const auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
NS::UInteger ComputePipelineDescriptor::maxTotalThreadsPerThreadgroup() const {
  const auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::maxTotalThreads...");
  return body == nullptr ? 0 : body->most_threads;
}
void ComputePipelineDescriptor::reset() {
  auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::reset");
  if (body == nullptr) return;
  body->label.clear();
  body->function = Owned();
  body->most_threads = 0;
  body->whole_simdgroups = body->indirect = false;
}
void ComputePipelineDescriptor::setComputeFunction(const MTL::Function* computeFunction) {
  auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::setComputeFunction");
  if (body != nullptr) body->function = Owned(computeFunction);
}
void ComputePipelineDescriptor::setLabel(const NS::String* label) {
  auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::ComputePipelineDescriptor::setLabel");
}
void ComputePipelineDescriptor::setMaxTotalThreadsPerThreadgroup(NS::UInteger maxTotalThreadsPerThreadgroup) {
  auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::setMaxTotalThreads...");
  if (body != nullptr) body->most_threads = maxTotalThreadsPerThreadgroup;
}
void ComputePipelineDescriptor::setSupportIndirectCommandBuffers(bool supportIndirectCommandBuffers) {
  auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::setSupportIndirect...");
  if (body != nullptr) body->indirect = supportIndirectCommandBuffers;
}
void ComputePipelineDescriptor::setThreadGroupSizeIsMultipleOfThreadExecutionWidth(bool whole) {
  auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::setThreadGroupSizeIs...");
  if (body != nullptr) body->whole_simdgroups = whole;
}
bool ComputePipelineDescriptor::supportIndirectCommandBuffers() const {
  const auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::supportIndirect...");
  return body != nullptr && body->indirect;
}
bool ComputePipelineDescriptor::threadGroupSizeIsMultipleOfThreadExecutionWidth() const {
  const auto* body = body_of<PipelineDescriptorBody>(this, "MTL::ComputePipelineDescriptor::threadGroupSizeIs...");
  return body != nullptr && body->whole_simdgroups;
}

ComputePipelineState* Device::newComputePipelineState(const MTL::Function* computeFunction, NS::Error** error) {
  const char* call = "MTL::Device::newComputePipelineState";
  return new_pipeline(body_of<DeviceBody>(this, call), computeFunction, 0, "", error, call);
}
ComputePipelineState* Device::newComputePipelineState(const MTL::Function* computeFunction, MTL::PipelineOption,
                                                      const MTL::AutoreleasedComputePipelineReflection*,
                                                      NS::Error** error) {
  return newComputePipelineState(computeFunction, error);
}
ComputePipelineState* Device::newComputePipelineState(const MTL::ComputePipelineDescriptor* descriptor,
                                                      MTL::PipelineOption,
                                                      const MTL::AutoreleasedComputePipelineReflection*,
                                                      NS::Error** error) {
  const char* call = "MTL::Device::newComputePipelineState";
  auto* device = body_of<DeviceBody>(this, call);
  const auto* body = body_of<PipelineDescriptorBody>(descriptor, call, "the descriptor");
  if (body == nullptr) return nullptr;
  return new_pipeline(device, body->function.get(), body->most_threads, body->label, error, call);
}

Device* ComputePipelineState::device() const {
  const auto* body = body_of<PipelineBody>(this, "MTL::ComputePipelineState::device");
  return body == nullptr ? nullptr : body->device_handle();
}
ResourceID ComputePipelineState::gpuResourceID() const {
  const auto* body = body_of<PipelineBody>(this, "MTL::ComputePipelineState::gpuResourceID");
  return ResourceID{body == nullptr ? 0 : body->node->serial};
}
NS::String* ComputePipelineState::label() const {
  const auto* body = body_of<PipelineBody>(this, "MTL::ComputePipelineState::label");
  return body == nullptr ? nullptr : make_string(body->data->label);
}
NS::UInteger ComputePipelineState::maxTotalThreadsPerThreadgroup() const {
  const auto* body = body_of<PipelineBody>(this, "MTL::ComputePipelineState::maxTotalThreadsPerThreadgroup");
  return body == nullptr ? 0 : body->data->most_threads;
}
NS::UInteger ComputePipelineState::staticThreadgroupMemoryLength() const {
  const auto* body = body_of<PipelineBody>(this, "MTL::ComputePipelineState::staticThreadgroupMemoryLength");
  return body == nullptr ? 0 : body->data->kernel.checked->facts.group_bytes;
}
bool ComputePipelineState::supportIndirectCommandBuffers() const {
  return false;
}
NS::UInteger ComputePipelineState::threadExecutionWidth() const {
  return body_of<PipelineBody>(this, "MTL::ComputePipelineState::threadExecutionWidth") == nullptr ? 0 : 32;
}

}  // namespace MTL
