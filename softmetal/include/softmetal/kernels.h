// Where kernels come from: a Metal text, and the same kernels compiled for the software GPU (KernelEntry tables). A
// text that differs by a byte from what was registered is refused, so what runs here is what a Mac would compile.
//
// CMake's softmetal_add_kernels (README.md) makes both from a .gpu file and registers them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/soft/entry.h"

namespace softmetal {

using KernelEntry = chiaro::gpu::soft::KernelEntry;
using Kernel = chiaro::gpu::soft::Kernel;

// Registers the text that newLibrary will be given. Of `kernels` those are taken whose names the text defines; all that
// it defines must be there. Text and kernels need not outlive the call, entries must (they are static tables).
// Registering the same text again changes nothing. Returns an empty text, or why it was refused.
std::string register_library(std::string_view name, std::string_view metal_text, std::span<const Kernel> kernels);
// The two tables that a kernel file compiles to.
std::string register_library(std::string_view name, std::string_view metal_text, std::span<const KernelEntry> checked,
                             std::span<const KernelEntry> fast);

// As softmetal_add_kernels uses it: refused texts are a fault.
struct Registration {
  Registration(std::string_view name, std::string_view metal_text, std::span<const KernelEntry> checked,
               std::span<const KernelEntry> fast);
};

// SHA-256 of a text, in hexadecimal digits: the key.
std::string text_digest(std::string_view metal_text);
// "name digest" of everything registered.
std::vector<std::string> registered_libraries();

}  // namespace softmetal
