#include "runtime/packed_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "runtime/executor_memory.h"

namespace chiaro {
namespace {

// Whole pages inside a window of a mapped file. Its bytes stay what they are: the next touch reads the file again.
void drop_pages(const std::byte* begin, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const auto last = (reinterpret_cast<uintptr_t>(begin) + static_cast<uintptr_t>(bytes)) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

Error bad_form(const PlanPacked& form, std::string why) {
  return {ErrorCode::internal, "weight " + std::to_string(form.weight) + " cannot be packed as " + form.layout,
          std::move(why), "", ""};
}

}  // namespace

Result<std::unique_ptr<Buffer>> PackedWeights::make(Device& device, const std::byte* source, const PlanPacked& form,
                                                    const KernelPlan& kernel) {
  CHIARO_ASSIGN(auto buffer, device.allocate(form.bytes, "a packed weight"));
  if (in_host_memory(device)) {
    CHIARO_TRY(kernel.pack(source, buffer->address(), pool_));
    return buffer;
  }
  CHIARO_ASSIGN(const Block block, Block::make(allocator_, static_cast<size_t>(form.bytes), "a weight to be packed"));
  CHIARO_TRY(kernel.pack(source, block.data(), pool_));
  CHIARO_TRY(device.upload(*buffer, 0, {block.data(), block.size()}));
  return buffer;
}

Result<std::shared_ptr<Buffer>> PackedWeights::get(Device& device, const TensorDataPtr& weight, const PlanPacked& form,
                                                   const KernelPlan& kernel) {
  if (!weight || (weight->bytes == nullptr && weight->desc.dense_bytes() > 0)) {
    return Error{ErrorCode::unsupported, "a graph without weights cannot run", "", "", ""};
  }
  if (form.offset < 0 || form.offset + form.desc.span_bytes() > weight->desc.dense_bytes()) {
    return bad_form(form, "it reaches beyond the weight");
  }
  const std::byte* source = weight->bytes + form.offset;
  const std::lock_guard lock(mutex_);
  std::weak_ptr<Packed>& known = forms_[Key{&device, source, form.desc.text(), form.layout}];
  std::shared_ptr<Packed> packed = known.lock();
  if (packed == nullptr) {
    CHIARO_ASSIGN(auto buffer, make(device, source, form, kernel));
    if (weight->mapped) drop_pages(source, form.desc.span_bytes());
    packed = std::make_shared<Packed>(Packed{weight, std::move(buffer)});
    known = packed;
  }
  Buffer* buffer = packed->buffer.get();
  return std::shared_ptr<Buffer>(std::move(packed), buffer);
}

void PackedWeights::forget_dropped() {
  const std::lock_guard lock(mutex_);
  std::erase_if(forms_, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace chiaro
