// The Metal texts whose kernels are compiled for the software GPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "metal_text.h"
#include "softmetal/kernels.h"

namespace softmetal::detail {

struct RegisteredLibrary {
  std::string name, text, digest;
  MetalText declared;
  std::unordered_map<std::string, Kernel> kernels;
};

// Null where exactly this text is not registered; `log` then says why, as a compiler would.
std::shared_ptr<const RegisteredLibrary> find_library(std::string_view text, std::string& log);
// All kernels of all registered texts.
std::vector<Kernel> all_kernels();

}  // namespace softmetal::detail
