#include "pipeline/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "backend/isolated/spec.h"

namespace chiaro {
namespace {

constexpr std::array<std::string_view, 4> kModules{"te", "diffusion", "vae", "all"};
constexpr std::string_view kWeight = "weight:";

Error refuse(std::string_view entry, std::string why, std::string mend) {
  return {ErrorCode::usage, fmt::format("a placement refuses \"{}\"", entry), std::move(why), std::move(mend),
          "--backend"};
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::vector<std::string>> device_names(std::string_view entry, std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view name : split(text, '&')) {
    if (name.empty()) {
      return refuse(entry, "a device's name is missing", "write MODULE=DEVICE, or MODULE=DEVICE&DEVICE");
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return refuse(entry, fmt::format("\"{}\" stands there twice", name), "name each device once");
    }
    names.emplace_back(name);
  }
  return names;
}

Status read_entry(Placement& placement, std::string_view entry) {
  const size_t equals = entry.find('=');
  const std::string_view key = equals == std::string_view::npos ? "all" : entry.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? entry : entry.substr(equals + 1);
  CHIARO_ASSIGN(std::vector<std::string> names, device_names(entry, value));
  if (key.starts_with(kWeight)) {
    if (key.size() == kWeight.size() || names.size() > 1) {
      return refuse(entry, "weights go to one device by their names", "write weight:PATTERN=DEVICE");
    }
    placement.weights.emplace_back(key.substr(kWeight.size()), names.front());
    return {};
  }
  if (std::find(kModules.begin(), kModules.end(), key) == kModules.end()) {
    return refuse(entry, fmt::format("there is no module \"{}\"", key),
                  fmt::format("the modules are {}; weights are weight:PATTERN", fmt::join(kModules, ", ")));
  }
  const auto [at, added] = placement.modules.try_emplace(std::string(key), names);
  if (added || at->second == names) return {};
  return refuse(entry, fmt::format("{} is placed on {} already", key, fmt::join(at->second, "&")),
                "place each module once");
}

std::vector<std::string> named(const Placement& placement) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& [module, devices] : placement.modules) std::for_each(devices.begin(), devices.end(), add);
  for (const auto& [pattern, device] : placement.weights) add(device);
  return names;
}

}  // namespace

Result<Placement> parse_placement(std::string_view backend) {
  Placement placement;
  if (backend.empty()) return placement;
  for (const std::string_view entry : split(backend, ',')) CHIARO_TRY(read_entry(placement, entry));
  return placement;
}

Result<DeviceChoice> choose_devices(std::string_view devices, std::string_view backend) {
  DeviceChoice choice;
  CHIARO_ASSIGN(choice.placement, parse_placement(backend));
  if (!devices.empty()) choice.specs = split_devices(devices);
  std::vector<std::string> names;
  for (const std::string& spec : choice.specs) names.push_back(spec.substr(0, spec.find(',')));
  const bool listed = !choice.specs.empty();
  if (std::find(names.begin(), names.end(), "cpu") == names.end()) {  // the engine adds it too, but at the end
    names.emplace_back("cpu");
    choice.specs.emplace_back("cpu");
  }
  for (const std::string& name : named(choice.placement)) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (listed) {
      return Error{ErrorCode::usage, fmt::format("there is no device \"{}\"", name),
                   fmt::format("the devices are {}", fmt::join(names, ", ")), "name it in --devices too", "--backend"};
    }
    names.push_back(name);
    choice.specs.push_back(name);
  }
  return choice;
}

}  // namespace chiaro
