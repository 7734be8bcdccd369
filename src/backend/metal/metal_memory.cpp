#include "backend/metal/metal_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace chiaro {
namespace {

constexpr MTL::ResourceOptions kShared = MTL::ResourceStorageModeShared | MTL::ResourceHazardTrackingModeUntracked;
constexpr MTL::ResourceOptions kPrivate = MTL::ResourceStorageModePrivate | MTL::ResourceHazardTrackingModeUntracked;

// Below this a copy is cheaper than a view of whole pages.
constexpr int64_t kLeastWrapped = int64_t{1} << 20;

std::string mib(int64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

int64_t whole_pages(int64_t bytes) {
  return bytes / host_page_bytes() * host_page_bytes();
}
// The finest grid on which views begin.
int64_t least_step(int64_t view_bytes) {
  return std::max(whole_pages(view_bytes / 8), host_page_bytes());
}

}  // namespace

int64_t host_page_bytes() {
  static const int64_t bytes = ::sysconf(_SC_PAGESIZE);
  return bytes;
}

int64_t largest_viewed_bytes(int64_t largest_buffer_bytes) {
  const int64_t view = whole_pages(largest_buffer_bytes);
  return std::max<int64_t>(view - least_step(view), 0);
}

HostPages::HostPages(int64_t bytes) : bytes_(bytes) {
  void* const pages =
      ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages != MAP_FAILED) begin_ = static_cast<std::byte*>(pages);
}

HostPages::~HostPages() {
  if (begin_ != nullptr) ::munmap(begin_, static_cast<size_t>(bytes_));
}

MetalBuffer::~MetalBuffer() {
  const MetalPool pool;
  // Before the pages go, which are this buffer's own or those of a mapped file.
  std::vector<MTL::Buffer*> gone;
  if (whole_) gone.push_back(whole_.get());
  for (const View& view : views_) gone.push_back(view.buffer.get());
  memory_.residency_.remove(gone);
  whole_.reset();
  views_.clear();
  memory_.live_ -= counted_;
}

std::byte* MetalBuffer::address() const {
  return host_ != nullptr || !whole_ ? host_ : reinterpret_cast<std::byte*>(whole_.get());
}

// Asked for only where the host touches the bytes: of memory that it never saw, softmetal knows what was written.
std::byte* MetalBuffer::host() const {
  if (host_ != nullptr || !whole_ || !memory_.shared()) return host_;
  return static_cast<std::byte*>(whole_->contents());
}

Result<MetalPlace> MetalBuffer::place(int64_t offset, int64_t bytes) {
  if (whole_) return MetalPlace{whole_.get(), static_cast<NS::UInteger>(base_ + offset)};
  if (!pages_) return MetalPlace{};
  const std::lock_guard lock(mutex_);
  for (const View& view : views_) {
    if (view.begin <= offset && offset + bytes <= view.end) {
      return MetalPlace{view.buffer.get(), static_cast<NS::UInteger>(offset - view.begin)};
    }
  }
  const int64_t largest = memory_.options_.largest_bytes, most = largest_viewed_bytes(largest);
  if (bytes > most) {
    return Error{
        ErrorCode::unsupported, memory_.options_.device + " has no view of " + mib(bytes),
        "in an arena larger than its largest buffer (" + mib(largest) + ") an operand has at most " + mib(most),
        "make a smaller picture", ""};
  }
  // Views side by side first, then on finer grids for what lies across their borders: so their number is bounded, and
  // with it what the residency set counts twice.
  const int64_t length = whole_pages(largest), all = whole_pages(bytes_ + host_page_bytes() - 1);
  const int64_t least = least_step(length);
  View view;
  for (int64_t step = length; step > 0; step = step == least ? 0 : std::max(whole_pages(step / 2), least)) {
    view.begin = offset / step * step;
    view.end = std::min(view.begin + length, all);
    if (offset + bytes <= view.end) break;
  }
  view.buffer = memory_.view(host_ + view.begin, view.end - view.begin);
  if (!view.buffer) return memory_.refusal(view.end - view.begin, "a view of the arena", "Metal refused it");
  views_.push_back(std::move(view));
  return MetalPlace{views_.back().buffer.get(), static_cast<NS::UInteger>(offset - views_.back().begin)};
}

int64_t MetalMemory::free_bytes() const {
  return options_.budget_bytes > 0 ? std::max<int64_t>(options_.budget_bytes - live_, 0) : -1;
}

bool MetalMemory::take(int64_t bytes) {
  int64_t live = live_;
  do {
    if (options_.budget_bytes > 0 && live + bytes > options_.budget_bytes) return false;
  } while (!live_.compare_exchange_weak(live, live + bytes));
  return true;
}

NS::SharedPtr<MTL::Buffer> MetalMemory::view(std::byte* begin, int64_t bytes) {
  auto buffer = NS::TransferPtr(device_.newBuffer(begin, static_cast<NS::UInteger>(bytes), kShared, nullptr));
  if (buffer) residency_.add(*buffer.get());
  return buffer;
}

Error MetalMemory::refusal(int64_t bytes, std::string_view what, std::string why) const {
  return {ErrorCode::out_of_memory, options_.device + " has no " + mib(bytes) + " for " + std::string(what),
          std::move(why), "make a smaller picture, or run a part on the CPU with --backend (te=cpu, say)",
          options_.device};
}

Result<std::unique_ptr<Buffer>> MetalMemory::allocate(const Device& owner, int64_t bytes, std::string_view what) {
  std::unique_ptr<MetalBuffer> made(new MetalBuffer(owner, *this, bytes));
  if (bytes <= 0) return std::unique_ptr<Buffer>(std::move(made));
  if (!take(bytes)) {
    return refusal(
        bytes, what,
        mib(live_) + " of " + mib(options_.budget_bytes) + " are in use (what the system recommends for the GPU)");
  }
  made->counted_ = bytes;
  const MetalPool pool;
  if (bytes <= options_.largest_bytes) {
    // Whole units of copies to and from private storage.
    const auto length = static_cast<NS::UInteger>((bytes + 15) / 16 * 16);
    made->whole_ = NS::TransferPtr(device_.newBuffer(length, shared() ? kShared : kPrivate));
    if (!made->whole_) return refusal(bytes, what, "Metal refused the buffer");
    residency_.add(*made->whole_.get());
    return std::unique_ptr<Buffer>(std::move(made));
  }
  if (!shared()) {
    return refusal(bytes, what,
                   "its largest buffer has " + mib(options_.largest_bytes) + ", and it shares none with the host");
  }
  made->pages_ = std::make_unique<HostPages>((bytes + host_page_bytes() - 1) / host_page_bytes() * host_page_bytes());
  made->host_ = made->pages_->begin();
  if (made->host_ == nullptr) return refusal(bytes, what, "the system refused the pages");
  return std::unique_ptr<Buffer>(std::move(made));
}

std::unique_ptr<Buffer> MetalMemory::wrap(const Device& owner, std::span<const std::byte> host) {
  const auto bytes = static_cast<int64_t>(host.size());
  if (!shared() || bytes < kLeastWrapped) return nullptr;
  const int64_t page = host_page_bytes();
  const auto first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(host.data()));
  const int64_t begin = first / page * page, length = (first + bytes - begin + page - 1) / page * page;
  // Resident pages count, whoever mapped them.
  if (length > options_.largest_bytes || !take(length)) return nullptr;
  const MetalPool pool;
  std::unique_ptr<MetalBuffer> made(new MetalBuffer(owner, *this, bytes));
  made->counted_ = length;
  // Kernels only read weights; nothing is written through this.
  made->host_ = const_cast<std::byte*>(host.data());
  made->base_ = first - begin;
  made->whole_ = view(made->host_ - made->base_, length);
  if (!made->whole_) return nullptr;
  return made;
}

}  // namespace chiaro
