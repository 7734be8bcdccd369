// Buffers, fences and what resources have in common.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "bodies.h"
#include "cpu_writes.h"

namespace softmetal::detail {
namespace {

constexpr uint64_t kRoom = 16384;  // an Apple page: buffers share none

uint64_t rounded(uint64_t bytes, uint64_t to) {
  return (bytes + to - 1) / to * to;
}

std::byte* map(uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

// The rules that hold for every new buffer.
bool check_new(const DeviceBody& device, NS::UInteger length, MTL::ResourceOptions options, const char* call) {
  if (length == 0) {
    fault(FaultKind::bad_range, call, "a buffer of 0 bytes");
    return false;
  }
  const auto most = static_cast<NS::UInteger>(device.profile.traits.max_buffer_bytes);
  if (length > most) {
    fault(FaultKind::bad_range, call, "a buffer longer than the device takes",
          std::to_string(length) + " bytes; maxBufferLength is " + std::to_string(most), "split it");
    return false;
  }
  if ((options >> 4 & 15) > MTL::StorageModePrivate) {
    fault(FaultKind::storage_mode, call, "a buffer cannot be memoryless");
    return false;
  }
  if ((options >> 8 & 3) == 3) {
    fault(FaultKind::bad_range, call, "a buffer cannot be both tracked and untracked");
    return false;
  }
  return true;
}

// Nil where the device has no room left, or the host.
std::unique_ptr<BufferBody> new_memory(DeviceBody& device, NS::UInteger length, MTL::ResourceOptions options) {
  const uint64_t limit = device.options.memory_bytes;
  if (device.lost || (limit > 0 && device.allocated + rounded(length, kRoom) > limit)) return nullptr;
  auto body = std::make_unique<BufferBody>(device, length, options);
  if (!body->allocate()) return nullptr;
  return body;
}

}  // namespace

BufferBody::BufferBody(DeviceBody& its_device, NS::UInteger bytes, MTL::ResourceOptions its_options)
    : AllocationBody(its_device), length(bytes), options(its_options), room(rounded(bytes, kRoom)) {}

bool BufferBody::allocate() {
  gpu = map(room);
  if (gpu == nullptr) return false;
  cpu = storage() == MTL::StorageModeShared ? gpu : nullptr;
  if (storage() == MTL::StorageModeManaged) cpu = map(room);
  if (storage() == MTL::StorageModeManaged && cpu == nullptr) return false;
  if (device->checks_now().kernels) {
    init = std::make_unique<chiaro::InitMap>(static_cast<int64_t>(length));
    // NaN in every float type: what was never written shows also without checks.
    std::memset(gpu, 0xFF, length);
  }
  device->allocated += room;
  return true;
}

BufferBody::~BufferBody() {
  if (gpu == nullptr) return;
  device->hazards.forget(gpu, room);
  device->cpu_writes->forget(gpu, room);
  if (no_copy) {
    if (deallocator) deallocator(gpu, length);
  } else {
    munmap(gpu, room);
    if (storage() == MTL::StorageModeManaged && cpu != nullptr) munmap(cpu, room);
  }
  device->allocated -= room;
}

void AllocationBody::given_up() {
  if (unretained_uses == 0) return;
  fault(FaultKind::in_flight, "release", "an object is released while a command buffer uses it",
        object_text(*this) +
            " is used by a command buffer that keeps no references, and that the program has not seen "
            "complete",
        "release it after waitUntilCompleted, or use commandBuffer()");
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::Call;
using softmetal::FaultKind;

Buffer* Device::newBuffer(NS::UInteger length, MTL::ResourceOptions options) {
  const char* call = "MTL::Device::newBuffer";
  auto* device = body_of<DeviceBody>(this, call);
  if (device == nullptr || !check_new(*device, length, options, call) || fails(Call::new_buffer)) return nullptr;
  auto body = new_memory(*device, length, options);
  return body == nullptr ? nullptr : make<Buffer>(std::move(body));
}

Buffer* Device::newBuffer(const void* pointer, NS::UInteger length, MTL::ResourceOptions options) {
  const char* call = "MTL::Device::newBuffer(bytes)";
  auto* device = body_of<DeviceBody>(this, call);
  if (device == nullptr || !check_new(*device, length, options, call)) return nullptr;
  if (pointer == nullptr) {
    fault(FaultKind::nil_object, call, "the bytes are nil");
    return nullptr;
  }
  if ((options >> 4 & 15) == StorageModePrivate) {
    fault(FaultKind::storage_mode, call, "private memory cannot be filled by the CPU", "", "copy with a blit encoder");
    return nullptr;
  }
  if (fails(Call::new_buffer)) return nullptr;
  auto body = new_memory(*device, length, options);
  if (body == nullptr) return nullptr;
  std::memcpy(body->gpu, pointer, length);
  if (body->cpu != body->gpu) std::memcpy(body->cpu, pointer, length);
  if (body->init) body->init->mark(0, static_cast<int64_t>(length), true);
  return make<Buffer>(std::move(body));
}

Buffer* Device::newBuffer(const void* pointer, NS::UInteger length, MTL::ResourceOptions options,
                          const softmetal::Deallocator& deallocator) {
  const char* call = "MTL::Device::newBuffer(no copy)";
  auto* device = body_of<DeviceBody>(this, call);
  if (device == nullptr || !check_new(*device, length, options, call)) return nullptr;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (pointer == nullptr) {
    fault(FaultKind::nil_object, call, "the memory is nil");
    return nullptr;
  }
  if (address % page != 0 || length % page != 0) {
    fault(FaultKind::storage_mode, call, "memory that is not whole pages",
          "address " + std::to_string(address % page) + " past a page, length " + std::to_string(length) +
              "; a page has " + std::to_string(page) + " bytes (16384 on a Mac)",
          "allocate with mmap or posix_memalign, and round the length up");
    return nullptr;
  }
  if ((options >> 4 & 15) != StorageModeShared) {
    fault(FaultKind::storage_mode, call, "memory of the program can only be shared");
    return nullptr;
  }
  if (fails(Call::new_buffer) || device->lost) return nullptr;
  auto body = std::make_unique<BufferBody>(*device, length, options);
  body->gpu = body->cpu = static_cast<std::byte*>(const_cast<void*>(pointer));
  body->room = length;
  body->no_copy = true;
  body->exposed = true;
  body->deallocator = deallocator;
  device->allocated += length;
  return make<Buffer>(std::move(body));
}

void* Buffer::contents() {
  const char* call = "MTL::Buffer::contents";
  auto* body = body_of<BufferBody>(this, call);
  if (body == nullptr) return nullptr;
  if (body->cpu == nullptr) {
    fault(FaultKind::storage_mode, call, "the CPU cannot see private memory", object_text(*body),
          "use shared storage, or copy with a blit encoder");
    return nullptr;
  }
  // From now on the CPU may write, unseen.
  if (!body->exposed.exchange(true) && body->init && body->cpu == body->gpu) {
    body->init->mark(0, static_cast<int64_t>(body->length), true);
  }
  return body->cpu;
}

void Buffer::didModifyRange(NS::Range range) {
  const char* call = "MTL::Buffer::didModifyRange";
  auto* body = body_of<BufferBody>(this, call);
  if (body == nullptr) return;
  if (body->storage() != StorageModeManaged) {
    fault(FaultKind::storage_mode, call, "the buffer is not managed", object_text(*body),
          "shared memory needs no such call");
    return;
  }
  if (range.location > body->length || range.length > body->length - range.location) {
    fault(FaultKind::bad_range, call, "a range past the end",
          std::to_string(range.location) + " + " + std::to_string(range.length) + " of " +
              std::to_string(body->length) + " bytes");
    return;
  }
  std::memcpy(body->gpu + range.location, body->cpu + range.location, range.length);
  if (body->init) {
    body->init->mark(static_cast<int64_t>(range.location), static_cast<int64_t>(range.length), true);
  }
}

uint64_t Buffer::gpuAddress() const {
  const auto* body = body_of<BufferBody>(this, "MTL::Buffer::gpuAddress");
  return body == nullptr ? 0 : reinterpret_cast<uint64_t>(body->gpu);
}
NS::UInteger Buffer::length() const {
  const auto* body = body_of<BufferBody>(this, "MTL::Buffer::length");
  return body == nullptr ? 0 : body->length;
}
void Buffer::addDebugMarker(const NS::String* marker, NS::Range) {
  const char* call = "MTL::Buffer::addDebugMarker";
  auto* body = body_of<BufferBody>(this, call);
  if (body != nullptr) body->markers.push_back(string_text(marker, call));
}
void Buffer::removeAllDebugMarkers() {
  auto* body = body_of<BufferBody>(this, "MTL::Buffer::removeAllDebugMarkers");
  if (body != nullptr) body->markers.clear();
}

// Resources -----------------------------------------------------------------------------------------------------------

NS::UInteger Allocation::allocatedSize() const {
  const auto* body = body_of<AllocationBody>(this, "MTL::Allocation::allocatedSize");
  return body == nullptr ? 0 : body->bytes_allocated();
}
NS::UInteger Resource::allocatedSize() const {
  const auto* body = body_of<AllocationBody>(this, "MTL::Resource::allocatedSize");
  return body == nullptr ? 0 : body->bytes_allocated();
}
CPUCacheMode Resource::cpuCacheMode() const {
  const auto* body = body_of<BufferBody>(this, "MTL::Resource::cpuCacheMode");
  return body == nullptr ? CPUCacheModeDefaultCache : static_cast<CPUCacheMode>(body->options & 15);
}
Device* Resource::device() const {
  const auto* body = body_of<AllocationBody>(this, "MTL::Resource::device");
  return body == nullptr ? nullptr : body->device_handle();
}
HazardTrackingMode Resource::hazardTrackingMode() const {
  const auto* body = body_of<BufferBody>(this, "MTL::Resource::hazardTrackingMode");
  return body != nullptr && !body->tracked() ? HazardTrackingModeUntracked : HazardTrackingModeTracked;
}
NS::String* Resource::label() const {
  const auto* body = body_of<AllocationBody>(this, "MTL::Resource::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
ResourceOptions Resource::resourceOptions() const {
  const auto* body = body_of<BufferBody>(this, "MTL::Resource::resourceOptions");
  return body == nullptr ? 0 : body->options;
}
void Resource::setLabel(const NS::String* label) {
  auto* body = body_of<AllocationBody>(this, "MTL::Resource::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::Resource::setLabel");
}
PurgeableState Resource::setPurgeableState(MTL::PurgeableState) {
  return body_of<BufferBody>(this, "MTL::Resource::setPurgeableState") == nullptr ? PurgeableState{}
                                                                                  : PurgeableStateNonVolatile;
}
StorageMode Resource::storageMode() const {
  const auto* body = body_of<BufferBody>(this, "MTL::Resource::storageMode");
  return body == nullptr ? StorageModeShared : body->storage();
}

// Fences --------------------------------------------------------------------------------------------------------------

Fence* Device::newFence() {
  auto* device = body_of<DeviceBody>(this, "MTL::Device::newFence");
  if (device == nullptr || fails(Call::new_event)) return nullptr;
  return make<Fence>(std::make_unique<FenceBody>(*device));
}
Device* Fence::device() const {
  const auto* body = body_of<FenceBody>(this, "MTL::Fence::device");
  return body == nullptr ? nullptr : body->device_handle();
}
NS::String* Fence::label() const {
  const auto* body = body_of<FenceBody>(this, "MTL::Fence::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void Fence::setLabel(const NS::String* label) {
  auto* body = body_of<FenceBody>(this, "MTL::Fence::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::Fence::setLabel");
}

}  // namespace MTL
