// What stands behind Metal's objects, save queues, command buffers and encoders (command_buffer.h).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/thread_pool.h"
#include "foundation.h"
#include "gpu/profile.h"
#include "gpu/soft/soft_gpu.h"
#include "hazards.h"
#include "options.h"
#include "registry.h"

namespace softmetal::detail {

class CpuWrites;

struct DeviceBody final : Body {
  static constexpr const char* kType = "MTL::Device";
  DeviceBody(DeviceOptions given, chiaro::gpu::Profile its_profile);
  ~DeviceBody() override;
  const char* type() const override { return kType; }

  DeviceOptions options;
  chiaro::gpu::Profile profile;  // what the device advertises
  uint64_t registry_id = 0;
  std::unique_ptr<chiaro::ThreadPool> own_pool;
  std::unique_ptr<chiaro::SoftGpu> gpu;  // has what the device executes, which may be more
  std::mutex running;                    // held while commands touch memory: one at a time on a device
  Hazards hazards;
  std::shared_ptr<CpuWrites> cpu_writes;  // command buffers that nobody waited for outlive the device
  std::atomic<bool> lost{false};
  std::atomic<uint64_t> allocated{0};

  std::mutex settings;  // guards what follows
  Checks checks;
  std::function<void(const Launch&)> observer;

  Checks checks_now() {
    const std::lock_guard lock(settings);
    return checks;
  }
};

// An object of a device: it holds a count of it.
struct DeviceObject : Body {
  explicit DeviceObject(DeviceBody& its_device) : device_ref(its_device.node), device(&its_device) {}
  MTL::Device* device_handle() const { return device_ref.as<MTL::Device>(); }
  Owned device_ref;
  DeviceBody* device;
};

// What allocatedSize() asks.
struct AllocationBody : DeviceObject {
  static constexpr const char* kType = "MTL::Allocation";
  using DeviceObject::DeviceObject;
  virtual uint64_t bytes_allocated() const = 0;
  // Uses by command buffers that do not keep what they use.
  std::atomic<int> unretained_uses{0};
  void given_up() override;
};

struct BufferBody final : AllocationBody {
  static constexpr const char* kType = "MTL::Buffer";
  // The memory stands already.
  BufferBody(DeviceBody& its_device, NS::UInteger bytes, MTL::ResourceOptions its_options);
  ~BufferBody() override;
  const char* type() const override { return kType; }
  uint64_t bytes_allocated() const override { return room; }
  MTL::StorageMode storage() const { return static_cast<MTL::StorageMode>(options >> 4 & 15); }
  bool tracked() const { return (options & MTL::ResourceHazardTrackingModeUntracked) == 0; }
  // Takes memory of its own. False where the host refuses.
  bool allocate();

  NS::UInteger length;
  MTL::ResourceOptions options;
  uint64_t room = 0;                      // bytes, whole pages
  std::byte* gpu = nullptr;               // what kernels see
  std::byte* cpu = nullptr;               // what the program sees: the same, unless storage is managed; null: private
  bool no_copy = false;                   // the memory is the program's
  Deallocator deallocator;                // of no-copy memory
  std::unique_ptr<chiaro::InitMap> init;  // which bytes were ever written; null: all count as written
  std::atomic<bool> exposed{false};       // contents() was called: the CPU may write any time
  std::vector<std::string> markers;
};

struct FenceBody final : DeviceObject {
  static constexpr const char* kType = "MTL::Fence";
  using DeviceObject::DeviceObject;
  const char* type() const override { return kType; }
  FenceClocks clocks;  // guarded by the device's hazards
};

struct LibraryBody final : DeviceObject {
  static constexpr const char* kType = "MTL::Library";
  using DeviceObject::DeviceObject;
  const char* type() const override { return kType; }
  std::shared_ptr<const RegisteredLibrary> source;
};

// Values by index and by name.
struct ConstantsBody final : Body {
  static constexpr const char* kType = "MTL::FunctionConstantValues";
  const char* type() const override { return kType; }
  std::unique_ptr<Body> copied() const override;
  struct Value {
    MTL::DataType type;
    uint32_t bits;
  };
  std::map<NS::UInteger, Value> by_index;
  std::map<std::string, Value> by_name;
};

struct FunctionBody final : DeviceObject {
  static constexpr const char* kType = "MTL::Function";
  using DeviceObject::DeviceObject;
  const char* type() const override { return kType; }
  std::string label_text() const override { return label.empty() ? name : label; }
  std::shared_ptr<const RegisteredLibrary> source;
  Kernel kernel;
  std::string name;
  std::vector<chiaro::GpuConstant> constants;
  std::string missing;  // a constant without a value, or empty
};

// What a dispatch needs of a pipeline; outlives the object.
struct PipelineData {
  std::shared_ptr<const RegisteredLibrary> source;
  Kernel kernel;
  std::string name, label;
  std::vector<chiaro::GpuConstant> constants;
  NS::UInteger most_threads = 0;
};
struct PipelineBody final : AllocationBody {
  static constexpr const char* kType = "MTL::ComputePipelineState";
  using AllocationBody::AllocationBody;
  const char* type() const override { return kType; }
  std::string label_text() const override { return data->label.empty() ? data->name : data->label; }
  uint64_t bytes_allocated() const override { return 0; }
  std::shared_ptr<const PipelineData> data;
};

struct ResidencySetBody final : DeviceObject {
  static constexpr const char* kType = "MTL::ResidencySet";
  using DeviceObject::DeviceObject;
  ~ResidencySetBody() override;
  const char* type() const override { return kType; }
  uint64_t bytes() const;
  // With the lock: a fault for each committed member whose memory, the program's, has gone.
  void check_memory(const char* call) const;
  mutable std::mutex mutex;  // guards what follows
  std::vector<Owned> planned;
  std::vector<Owned> removed;  // committed still: until the next commit()
  // What commit() made of it: addresses of nodes, and their bytes.
  std::map<const void*, uint64_t> committed;
};

// Whether the object belongs to that device; else a fault.
bool same_device(const DeviceObject& object, const DeviceBody& device, std::string_view call, std::string_view role);
chiaro::gpu::soft::Slot const* find_slot(const Kernel& kernel, NS::UInteger index);

}  // namespace softmetal::detail
