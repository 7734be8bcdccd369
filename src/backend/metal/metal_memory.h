// Memory of one Metal device: buffers in shared or private storage, host memory that is read where it lies, and blocks
// larger than the device's largest buffer.
//
// Every buffer is untracked: order is kept by the barriers and fences of metal_segment.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "backend/metal/metal_api.h"
#include "backend/metal/metal_residency.h"

namespace chiaro {

// Where bytes of a MetalBuffer lie for a kernel. The MTL::Buffer belongs to the MetalBuffer.
struct MetalPlace {
  MTL::Buffer* buffer = nullptr;
  NS::UInteger offset = 0;
};

// Anonymous pages.
class HostPages {
 public:
  HostPages() = default;
  explicit HostPages(int64_t bytes);  // empty where the system refuses
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;
  std::byte* begin() const { return begin_; }

 private:
  std::byte* begin_ = nullptr;
  int64_t bytes_ = 0;
};
int64_t host_page_bytes();
// What an operand may have at most so that a view on the grid of MetalBuffer::place() holds it wherever it lies.
int64_t largest_viewed_bytes(int64_t largest_buffer_bytes);

class MetalMemory;

// Thread rule: any thread.
class MetalBuffer final : public Buffer {
 public:
  ~MetalBuffer() override;
  const Device& owner() const override { return owner_; }
  int64_t bytes() const override { return bytes_; }
  // Tells buffers apart; not to be looked through.
  std::byte* address() const override;
  // The bytes as the host sees them; null in private storage.
  std::byte* host() const;

  // `bytes` from `offset` on as a kernel may have them. Errors: unsupported where no buffer of the device holds so
  // much; out_of_memory where Metal refuses a further view.
  Result<MetalPlace> place(int64_t offset, int64_t bytes);

 private:
  friend class MetalMemory;
  MetalBuffer(const Device& owner, MetalMemory& memory, int64_t bytes)
      : owner_(owner), memory_(memory), bytes_(bytes) {}
  // A view of the pages: one of the buffers through which a block larger than any buffer is reached. Views overlap
  // where operands lie across their borders.
  struct View {
    int64_t begin = 0, end = 0;
    NS::SharedPtr<MTL::Buffer> buffer;
  };
  const Device& owner_;
  MetalMemory& memory_;
  int64_t bytes_ = 0, counted_ = 0;
  std::byte* host_ = nullptr;
  NS::SharedPtr<MTL::Buffer> whole_;  // null for a block that has views, and for no bytes
  int64_t base_ = 0;                  // of this buffer's first byte in `whole_`
  std::unique_ptr<HostPages> pages_;
  std::mutex mutex_;
  std::vector<View> views_;
};

struct MetalMemoryOptions {
  std::string device;         // its name, for errors
  bool shared = true;         // memory that host and GPU both see; else private, reached through staging
  int64_t budget_bytes = 0;   // 0: no limit
  int64_t largest_bytes = 0;  // of a buffer
};

// Thread rule: any thread. Outlives its buffers.
class MetalMemory {
 public:
  MetalMemory(MTL::Device& device, MetalResidency& residency, MetalMemoryOptions options)
      : device_(device), residency_(residency), options_(std::move(options)) {}

  // Errors: out_of_memory with what there is, naming `what`.
  Result<std::unique_ptr<Buffer>> allocate(const Device& owner, int64_t bytes, std::string_view what);
  // Host memory where it lies, its pages within the budget. Null where this device cannot have it so: it is not worth
  // it, the budget has no room, or Metal refuses.
  std::unique_ptr<Buffer> wrap(const Device& owner, std::span<const std::byte> host);

  bool shared() const { return options_.shared; }
  int64_t free_bytes() const;
  int64_t budget_bytes() const { return options_.budget_bytes > 0 ? options_.budget_bytes : -1; }
  int64_t live_bytes() const { return live_; }

 private:
  friend class MetalBuffer;
  bool take(int64_t bytes);
  NS::SharedPtr<MTL::Buffer> view(std::byte* begin, int64_t bytes);
  Error refusal(int64_t bytes, std::string_view what, std::string why) const;
  MTL::Device& device_;
  MetalResidency& residency_;
  MetalMemoryOptions options_;
  std::atomic<int64_t> live_{0};
};

}  // namespace chiaro
