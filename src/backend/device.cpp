#include "backend/device.h"

namespace chiaro {

Status Device::accepts(const Call& /*call*/) const {
  return {};
}

Result<std::unique_ptr<Buffer>> Device::wrap(std::span<const std::byte> /*host*/, std::string_view what) {
  return Error{ErrorCode::unsupported, traits().name + " does not read host memory", std::string(what),
               "upload it instead", ""};
}

Status Device::copy_from(BufferRef /*to*/, BufferRef from, int64_t /*bytes*/) {
  return Error{
      ErrorCode::unsupported,
      traits().name + " cannot copy from " + (from ? from.buffer->owner().traits().name : std::string("no buffer")), "",
      "copy through the host", ""};
}

}  // namespace chiaro
