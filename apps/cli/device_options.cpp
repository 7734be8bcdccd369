// What the device flags mean together.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.h"

namespace chiaro::cli {

std::string DeviceOptions::device_list() const {
  return fmt::format("{}", fmt::join(devices, ","));
}

std::string DeviceOptions::placement(const std::string& otherwise) const {
  std::vector<std::string> parts = backend;
  if (parts.empty() && !otherwise.empty()) parts.push_back(otherwise);
  if (clip_on_cpu) parts.emplace_back("te=cpu");
  if (vae_on_cpu) parts.emplace_back("vae=cpu");
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace chiaro::cli
