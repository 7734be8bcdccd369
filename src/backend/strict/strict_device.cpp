#include "backend/strict/strict_device.h"

#include <algorithm>
#include <cstring>

#include "backend/launch_checks.h"

namespace chiaro {
namespace {

std::string op_name(const Launch& launch) {
  return launch.op != nullptr ? std::string(launch.op->name) : "a kernel";
}

Error out_of_range(std::string what) {
  return {ErrorCode::internal, std::move(what) + " is past the end of a buffer", "", "", ""};
}

}  // namespace

StrictDevice::StrictDevice(DeviceTraits traits, std::vector<std::string> addresses, int64_t budget_bytes,
                           int64_t fail_at)
    : traits_(std::move(traits)), addresses_(std::move(addresses)), memory_(budget_bytes, fail_at) {}

std::unique_ptr<Buffer> StrictDevice::make_buffer(std::byte* address, int64_t bytes) {
  return std::make_unique<StrictBuffer>(*this, memory_, address, bytes);
}

Result<std::unique_ptr<Buffer>> StrictDevice::allocate(int64_t bytes, std::string_view what) {
  std::byte* address = nullptr;
  if (bytes > 0) {
    auto block = memory_.allocate(bytes, what);
    if (!block.ok()) return std::move(block).error().at(traits_.name);
    address = *block;
  }
  return make_buffer(address, bytes);
}

int64_t StrictDevice::free_bytes() const {
  return memory_.budget_bytes() > 0 ? memory_.budget_bytes() - memory_.live_bytes() : -1;
}

bool StrictDevice::addresses(const Device& owner) const {
  return &owner == this || std::find(addresses_.begin(), addresses_.end(), owner.traits().name) != addresses_.end();
}

Status StrictDevice::upload(Buffer& to, int64_t offset, std::span<const std::byte> from) {
  CHIARO_TRY(check_own(to, offset, static_cast<int64_t>(from.size()), "the target of an upload"));
  copy_begins();
  if (!from.empty()) std::memcpy(to.address() + offset, from.data(), from.size());
  copy_landed(to, offset, static_cast<int64_t>(from.size()));
  return {};
}

Status StrictDevice::download(std::span<std::byte> to, const Buffer& from, int64_t offset) {
  CHIARO_TRY(check_own(from, offset, static_cast<int64_t>(to.size()), "the source of a download"));
  copy_begins();
  if (!to.empty()) std::memcpy(to.data(), from.address() + offset, to.size());
  return {};
}

Status StrictDevice::copy_from(BufferRef to, BufferRef from, int64_t bytes) {
  CHIARO_TRY(check_own(*to.buffer, to.offset, bytes, "the target of a copy"));
  if (!can_address(*from.buffer)) return foreign_memory(*this, "the source of a copy", *from.buffer, nullptr);
  if (from.offset < 0 || from.offset + bytes > from.buffer->bytes()) return out_of_range("the source of a copy");
  copy_begins();
  if (bytes > 0) std::memmove(to.address(), from.address(), static_cast<size_t>(bytes));
  copy_landed(*to.buffer, to.offset, bytes);
  return {};
}

Status StrictDevice::check_own(const Buffer& buffer, int64_t offset, int64_t bytes, const std::string& what) const {
  if (&buffer.owner() != this) return foreign_memory(*this, what, buffer, nullptr);
  if (offset < 0 || offset + bytes > buffer.bytes()) return out_of_range(what);
  return {};
}

Status StrictDevice::check_launch(const Launch& launch, std::vector<const std::byte*>& own) const {
  CHIARO_TRY(check_operands(*this, launch));
  return for_each_operand(launch, [&](const BufferRef& ref, const std::string&, int64_t) -> Status {
    if (ref.buffer->bytes() > 0 && &ref.buffer->owner() == this) own.push_back(ref.address());
    return {};
  });
}

Status StrictDevice::check_live(const Launch& launch, std::span<const std::byte* const> own) const {
  for (const std::byte* address : own) {
    if (memory_.owns(address, 1)) continue;
    return Error{ErrorCode::ownership, "an operand was released before the launch that uses it",
                 op_name(launch) + " on " + traits_.name, "buffers must outlive the segments compiled with them",
                 std::string(launch.label)};
  }
  return {};
}

}  // namespace chiaro
