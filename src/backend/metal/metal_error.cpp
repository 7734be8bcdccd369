#include "backend/metal/metal_error.h"

namespace chiaro {

std::string metal_error_text(const NS::Error* error) {
  if (error == nullptr) return {};
  return text_of(error->localizedDescription()) + " (" + text_of(error->domain()) + " " +
         std::to_string(error->code()) + ")";
}

Error command_buffer_error(const NS::Error* error, std::string_view device, std::string where) {
  const std::string name(device), why = metal_error_text(error);
  const auto made = [&](ErrorCode code, const std::string& what, std::string mend) {
    return Error{code, name + " " + what, why, std::move(mend), where};
  };
  switch (error == nullptr ? NS::Integer{0} : error->code()) {
    case MTL::CommandBufferErrorTimeout:
      return made(ErrorCode::unsupported, "stopped a piece of work that took too long",
                  "make a smaller picture, close other programs that use the GPU, or run this part on the CPU with "
                  "--backend (vae=cpu, say)");
    case MTL::CommandBufferErrorOutOfMemory:
      return made(ErrorCode::out_of_memory, "ran out of memory", "make a smaller picture, or run a part on the CPU");
    case MTL::CommandBufferErrorAccessRevoked:
    case MTL::CommandBufferErrorNotPermitted:
      return made(ErrorCode::io, "may not be used by this program now",
                  "the system denies it after faults and to programs in the background; start the program again");
    case MTL::CommandBufferErrorDeviceRemoved:
      return made(ErrorCode::io, "is gone", "it was unplugged or reset; start the program again");
    case MTL::CommandBufferErrorPageFault:
    case MTL::CommandBufferErrorInvalidResource:
      return made(ErrorCode::internal, "touched memory that is not its own", "please report this with the plan's text");
    default:
      return made(ErrorCode::internal, "did not finish a piece of work",
                  "try again; --disable-op OP@" + name + " does without a kernel");
  }
}

Error metal_nil(std::string_view device, std::string_view what) {
  return {ErrorCode::out_of_memory, std::string(device) + " makes no " + std::string(what),
          "Metal gave none, and no reason", "close other programs that use the GPU, or use --devices cpu", ""};
}

}  // namespace chiaro
