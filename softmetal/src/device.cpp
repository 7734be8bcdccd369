// Devices: which there are, and what they answer.
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "bodies.h"
#include "cpu_writes.h"

namespace softmetal {
namespace detail {
namespace {

using chiaro::gpu::Profile;

// The devices that CopyAllDevices lists; each is made when someone asks, and the same as long as it is held.
struct Machine {
  std::recursive_mutex mutex;  // a fault while a device is made may call back
  std::vector<DeviceOptions> options;
  std::vector<Node*> made;  // null, or with its body (whose destructor takes it out); it may have no counts any more
  bool chosen = false;
};
Machine& machine() {
  static Machine* all = new Machine;
  return *all;
}

// With the lock held.
void choose_devices(Machine& m, std::vector<DeviceOptions> options) {
  m.options = std::move(options);
  m.made.assign(m.options.size(), nullptr);
  m.chosen = true;
}

void choose_from_environment(Machine& m) {
  if (m.chosen) return;
  std::vector<DeviceOptions> options;
  for (const std::string& profile : environment().devices) {
    options.emplace_back();
    options.back().profile = profile;
  }
  if (!environment().has_devices) options.emplace_back();
  choose_devices(m, std::move(options));
}

chiaro::gpu::Traits executed(const DeviceOptions& options, const Profile& profile) {
  chiaro::gpu::Traits traits = profile.traits;
  if (options.unadvertised) traits.simd_reduce = traits.simd_matrix = true;
  return traits;
}

// 8 GB of a Mac give its GPU two thirds; a hosted runner of 7 GB says 5010.80 MB (ggml-org/llama.cpp, issue 8617).
uint64_t default_working_set(const std::string& profile) {
  return profile == "apple5-vm" ? 5010800000u : (uint64_t{16} << 30) / 3;
}

DeviceBody* create(const DeviceOptions& given, const char* call) {
  if (fails(Call::create_device)) return nullptr;
  DeviceOptions options = given;
  const Environment& e = environment();
  if (options.profile.empty()) options.profile = e.profile.empty() ? "apple7" : e.profile;
  auto profile = chiaro::gpu::find_profile(options.profile);
  if (!profile.ok()) {
    fault(FaultKind::unsupported, call, profile.error().what, profile.error().why, profile.error().mend);
    return nullptr;
  }
  options.unadvertised = options.unadvertised || e.unadvertised;
  options.checks.kernels = options.checks.kernels && e.checks.kernels;
  options.checks.hazards = options.checks.hazards && e.checks.hazards;
  options.checks.cpu_writes = options.checks.cpu_writes && e.checks.cpu_writes;
  if (options.threads == 0) options.threads = e.threads;
  if (options.real_watchdog_seconds == 0) options.real_watchdog_seconds = e.timeout;
  if (options.watchdog_seconds > 0) profile->traits.watchdog_seconds = options.watchdog_seconds;
  if (options.max_buffer_bytes > 0) {
    profile->traits.max_buffer_bytes = static_cast<int64_t>(options.max_buffer_bytes);
  }
  if (options.working_set_bytes == 0) options.working_set_bytes = default_working_set(options.profile);
  auto body = std::make_unique<DeviceBody>(std::move(options), std::move(*profile));
  DeviceBody* device = body.get();
  adopt(std::move(body));
  return device;
}

}  // namespace

DeviceBody::DeviceBody(DeviceOptions given, Profile its_profile)
    : options(std::move(given)), profile(std::move(its_profile)), cpu_writes(std::make_shared<CpuWrites>()) {
  checks = options.checks;
  label = profile.name;
  chiaro::ThreadPool* pool = options.pool;
  if (pool == nullptr) {
    own_pool = std::make_unique<chiaro::ThreadPool>(options.threads);
    pool = own_pool.get();
  }
  gpu = std::make_unique<chiaro::SoftGpu>(std::span<const Kernel>(), executed(options, profile), *pool);
  static std::atomic<uint64_t> ids{0};
  registry_id = ++ids;
}

DeviceBody::~DeviceBody() {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  std::replace(m.made.begin(), m.made.end(), node, static_cast<Node*>(nullptr));
}

bool same_device(const DeviceObject& object, const DeviceBody& device, std::string_view call, std::string_view role) {
  if (object.device == &device) return true;
  fault(FaultKind::foreign_device, call, std::string(role) + " is of another device",
        object_text(object) + " is of " + object_text(*object.device) + " (registry " +
            std::to_string(object.device->registry_id) + "), the call is of " + object_text(device) + " (registry " +
            std::to_string(device.registry_id) + ")",
        "make it on the device that uses it");
  return false;
}

namespace {

// The device at a place of the list, with a count for the caller. One thread at a time, so that there is one of each.
MTL::Device* machine_device(size_t at, const char* call) {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  choose_from_environment(m);
  if (at >= m.options.size()) return nullptr;
  if (m.made[at] != nullptr && retain_counted(m.made[at])) return reinterpret_cast<MTL::Device*>(m.made[at]);
  DeviceBody* device = create(DeviceOptions(m.options[at]), call);
  if (device == nullptr) return nullptr;
  m.made[at] = device->node;
  return reinterpret_cast<MTL::Device*>(device->node);
}

}  // namespace
}  // namespace detail

MTL::Device* create_device(const DeviceOptions& options) {
  detail::DeviceBody* device = detail::create(options, "softmetal::create_device");
  return device == nullptr ? nullptr : reinterpret_cast<MTL::Device*>(device->node);
}
MTL::Device* create_device(std::string_view profile) {
  DeviceOptions options;
  options.profile = profile;
  return create_device(options);
}

void set_devices(std::vector<DeviceOptions> devices) {
  detail::Machine& m = detail::machine();
  const std::lock_guard lock(m.mutex);
  detail::choose_devices(m, std::move(devices));
}

std::vector<std::string> profile_names() {
  return chiaro::gpu::profile_names();
}

void set_checks(MTL::Device* device, const Checks& checks) {
  auto* body = detail::body_of<detail::DeviceBody>(device, "softmetal::set_checks", "device");
  if (body == nullptr) return;
  const std::lock_guard lock(body->settings);
  body->checks = checks;
}

void on_launch(MTL::Device* device, std::function<void(const Launch&)> observer) {
  auto* body = detail::body_of<detail::DeviceBody>(device, "softmetal::on_launch", "device");
  if (body == nullptr) return;
  const std::lock_guard lock(body->settings);
  body->observer = std::move(observer);
}

}  // namespace softmetal

namespace MTL {

using softmetal::detail::body_of;
using softmetal::detail::DeviceBody;

Device* CreateSystemDefaultDevice() {
  return softmetal::detail::machine_device(0, "MTL::CreateSystemDefaultDevice");
}

NS::Array* CopyAllDevices() {
  std::vector<const NS::Object*> devices;
  for (size_t i = 0; Device* device = softmetal::detail::machine_device(i, "MTL::CopyAllDevices"); ++i) {
    devices.push_back(device);
  }
  NS::Array* array = NS::Array::alloc()->init(devices.data(), devices.size());
  for (const NS::Object* device : devices) softmetal::detail::release(device);
  return array;
}

NS::UInteger Device::currentAllocatedSize() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::currentAllocatedSize");
  return body == nullptr ? 0 : body->allocated.load();
}
bool Device::hasUnifiedMemory() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::hasUnifiedMemory");
  return body != nullptr && body->options.unified_memory;
}
bool Device::headless() const {
  return true;
}
DeviceLocation Device::location() const {
  return DeviceLocationBuiltIn;
}
bool Device::lowPower() const {
  return false;
}
NS::UInteger Device::maxBufferLength() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::maxBufferLength");
  return body == nullptr ? 0 : static_cast<NS::UInteger>(body->profile.traits.max_buffer_bytes);
}
NS::UInteger Device::maxThreadgroupMemoryLength() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::maxThreadgroupMemoryLength");
  return body == nullptr ? 0 : static_cast<NS::UInteger>(body->profile.traits.threadgroup_bytes);
}
Size Device::maxThreadsPerThreadgroup() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::maxThreadsPerThreadgroup");
  const NS::UInteger most = body == nullptr ? 0 : static_cast<NS::UInteger>(body->profile.traits.max_threads);
  return Size(most, most, most);
}
NS::String* Device::name() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::name");
  return body == nullptr ? nullptr : softmetal::detail::make_string("softmetal " + body->profile.name);
}
uint64_t Device::recommendedMaxWorkingSetSize() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::recommendedMaxWorkingSetSize");
  return body == nullptr ? 0 : body->options.working_set_bytes;
}
uint64_t Device::registryID() const {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::registryID");
  return body == nullptr ? 0 : body->registry_id;
}
bool Device::removable() const {
  return false;
}

// Apple's feature set tables: a family has those below it. A guest's device (apple5-vm) answers Apple5, and neither
// Mac2 nor Metal3: a runner's log in ggml-org/llama.cpp, issue 8617, which prints Common3 and no simdgroup reductions.
bool Device::supportsFamily(MTL::GPUFamily gpuFamily) {
  const auto* body = body_of<DeviceBody>(this, "MTL::Device::supportsFamily");
  if (body == nullptr) return false;
  const std::string& profile = body->profile.name;
  const bool guest = profile == "apple5-vm";
  const int apple = profile.size() > 5 ? profile[5] - '0' : 0;
  if (gpuFamily >= GPUFamilyApple1 && gpuFamily <= GPUFamilyApple10) return gpuFamily - GPUFamilyApple1 < apple;
  if (gpuFamily >= GPUFamilyCommon1 && gpuFamily <= GPUFamilyCommon3) return true;
  if (gpuFamily == GPUFamilyMac1 || gpuFamily == GPUFamilyMac2) return !guest;
  return gpuFamily == GPUFamilyMetal3 && !guest;
}

}  // namespace MTL
