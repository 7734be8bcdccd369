#include "backend/metal/metal_discovery.h"

#include <charconv>
#include <cstdlib>

#include "gpu/profile.h"

#if defined(CHIARO_SOFTMETAL)
#include <softmetal/kernels.h>
#include <softmetal/softmetal.h>

#include <algorithm>
#endif

namespace chiaro {
namespace {

Error no_device(const std::string& name, std::string why, std::string mend) {
  return {ErrorCode::usage, "there is no device \"" + name + "\"", std::move(why), std::move(mend), ""};
}

Result<size_t> number_of(const std::string& name) {
  const std::string_view digits = std::string_view(name).substr(kMetalPrefix.size());
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return no_device(name, "", "Metal devices are metal0, metal1 and so on");
  }
  return number;
}

// Whether metal0 and so on are devices here: on a Mac; elsewhere where softmetal was told what the machine has.
bool lists_devices() {
#if defined(CHIARO_SOFTMETAL)
  const char* const devices = std::getenv("SOFTMETAL_DEVICES");
  return devices != nullptr && *devices != '\0';
#else
  return true;
#endif
}

Result<NS::SharedPtr<MTL::Device>> listed_device(const std::string& name) {
  CHIARO_ASSIGN(const size_t number, number_of(name));
  if (!lists_devices()) {
    return no_device(
        name, "this program was built without Apple's Metal",
        "use softmetal:PROFILE, a software GPU, or set SOFTMETAL_DEVICES to the profiles of such a machine");
  }
  const MetalPool pool;
  const auto all = NS::TransferPtr(MTL::CopyAllDevices());
  const size_t count = all ? all->count() : 0;
  if (number >= count) {
    return no_device(name, "this machine has " + std::to_string(count) + " Metal devices",
                     "`chiaro devices` shows them");
  }
  return NS::RetainPtr(all->object<MTL::Device>(number));
}

#if defined(CHIARO_SOFTMETAL)
// softmetal finds the kernels that a text stands for in what was registered.
Status register_kernels() {
  static const std::string refused = [] {
    for (const GpuMetalText& text : gpu_metal_texts()) {
      const std::string why = softmetal::register_library(text.op, text.text, gpu_soft_kernels());
      if (!why.empty()) return std::string(text.op) + ": " + why;
    }
    return std::string();
  }();
  if (refused.empty()) return {};
  return Error{ErrorCode::internal, "softmetal refuses the kernels of this engine", refused, "", ""};
}

Result<NS::SharedPtr<MTL::Device>> soft_device(const MetalDeviceOptions& options) {
  softmetal::DeviceOptions soft;
  soft.profile = options.name.substr(kSoftMetalPrefix.size());
  soft.threads = options.threads;
  soft.watchdog_seconds = options.watchdog_seconds;
  const bool on = options.checks != SoftMetalChecks::off;
  soft.checks = {on, on, options.checks == SoftMetalChecks::all};
  CHIARO_ASSIGN(const auto switches, parse_metal_features(options.features.value_or("")));
  soft.unadvertised = std::any_of(switches.begin(), switches.end(), [](const auto& one) { return one.on; });
  auto device = NS::TransferPtr(softmetal::create_device(soft));
  if (!device) return no_device(options.name, "softmetal makes none", "use --devices cpu");
  return device;
}
#endif

}  // namespace

Result<NS::SharedPtr<MTL::Device>> find_metal_device(const MetalDeviceOptions& options) {
#if defined(CHIARO_SOFTMETAL)
  CHIARO_TRY(register_kernels());
  if (options.name.starts_with(kSoftMetalPrefix)) return soft_device(options);
#else
  if (options.name.starts_with(kSoftMetalPrefix)) {
    return no_device(options.name, "softmetal stands in for Metal where there is none", "use metal0");
  }
#endif
  return listed_device(options.name);
}

std::vector<std::string> metal_device_names() {
  std::vector<std::string> names;
  if (!lists_devices()) return names;
  const MetalPool pool;
  const auto all = NS::TransferPtr(MTL::CopyAllDevices());
  for (size_t i = 0; all && i < all->count(); ++i) names.push_back(std::string(kMetalPrefix) + std::to_string(i));
  return names;
}

}  // namespace chiaro
