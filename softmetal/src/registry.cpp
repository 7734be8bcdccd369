#include "registry.h"

#include <algorithm>
#include <mutex>

#include "core/sha256.h"
#include "fault.h"

namespace softmetal {
namespace detail {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<const RegisteredLibrary>> libraries;
};
Registry& registry() {
  static Registry* all = new Registry;
  return *all;
}

std::string short_digest(const std::string& digest) {
  return digest.substr(0, 12);
}

// "line 12: \"...\" instead of \"...\""
std::string first_difference(std::string_view got, std::string_view wanted) {
  const auto at = static_cast<size_t>(
      std::mismatch(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(std::min(got.size(), wanted.size())),
                    wanted.begin())
          .first -
      got.begin());
  const auto line_at = [at](std::string_view text) {
    const size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return std::string(text.substr(start, std::min<size_t>(text.find('\n', at) - start, 80)));
  };
  const auto line = 1 + std::count(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return "line " + std::to_string(line) + " has \"" + line_at(got) + "\" where what was registered has \"" +
         line_at(wanted) + "\"";
}

}  // namespace

std::shared_ptr<const RegisteredLibrary> find_library(std::string_view text, std::string& log) {
  const std::string digest = text_digest(text);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const auto& library : r.libraries) {
    if (library->digest == digest) return library;
  }
  const MetalText declared = read_metal_text(text);
  log = "program_source: error: the software GPU has no kernels of this text (digest " + short_digest(digest) + ")";
  if (declared.kernels.empty()) log += "\nprogram_source: note: it declares no kernel";
  for (const auto& [name, constants] : declared.kernels) {
    for (const auto& library : r.libraries) {
      if (library->kernels.count(name) == 0) continue;
      log += "\nprogram_source: note: kernel '" + name + "' was compiled from another text, '" + library->name +
             "' (digest " + short_digest(library->digest) + "): " + first_difference(text, library->text);
      return nullptr;
    }
  }
  for (const auto& [name, constants] : declared.kernels) {
    log += "\nprogram_source: note: kernel '" + name + "' is not registered";
  }
  return nullptr;
}

std::vector<Kernel> all_kernels() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<Kernel> all;
  for (const auto& library : r.libraries) {
    for (const auto& named : library->kernels) all.push_back(named.second);
  }
  return all;
}

}  // namespace detail

std::string text_digest(std::string_view metal_text) {
  return chiaro::to_hex(chiaro::sha256(metal_text));
}

std::string register_library(std::string_view name, std::string_view metal_text, std::span<const Kernel> kernels) {
  auto library = std::make_shared<detail::RegisteredLibrary>();
  library->name = name;
  library->text = metal_text;
  library->digest = text_digest(metal_text);
  library->declared = detail::read_metal_text(metal_text);
  const std::string who = "the text '" + library->name + "' ";
  if (library->declared.kernels.empty()) return who + "declares no kernel";
  for (const auto& [kernel, constants] : library->declared.kernels) {
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&kernel = kernel](const Kernel& one) {
      return one.checked != nullptr && one.fast != nullptr && kernel == one.checked->facts.name;
    });
    if (found == kernels.end()) return who + "declares the kernel '" + kernel + "', which was not compiled with it";
    library->kernels.emplace(kernel, *found);
  }
  detail::Registry& r = detail::registry();
  const std::lock_guard lock(r.mutex);
  for (const auto& known : r.libraries) {
    if (known->digest == library->digest) return "";
  }
  r.libraries.push_back(std::move(library));
  return "";
}

std::string register_library(std::string_view name, std::string_view metal_text, std::span<const KernelEntry> checked,
                             std::span<const KernelEntry> fast) {
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < checked.size() && i < fast.size(); ++i) kernels.push_back({&checked[i], &fast[i]});
  return register_library(name, metal_text, kernels);
}

Registration::Registration(std::string_view name, std::string_view metal_text, std::span<const KernelEntry> checked,
                           std::span<const KernelEntry> fast) {
  const std::string refused = register_library(name, metal_text, checked, fast);
  if (!refused.empty()) detail::fault(FaultKind::unsupported, "softmetal::register_library", refused);
}

std::vector<std::string> registered_libraries() {
  detail::Registry& r = detail::registry();
  const std::lock_guard lock(r.mutex);
  std::vector<std::string> lines;
  for (const auto& library : r.libraries) lines.push_back(library->name + " " + library->digest);
  return lines;
}

}  // namespace softmetal
