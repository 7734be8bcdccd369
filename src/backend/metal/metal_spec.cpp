// Metal devices as text: metal0,storage=private and softmetal:apple7,checks=off.
#include <algorithm>
#include <cctype>
#include <chrono>

#include "backend/metal/metal_device.h"
#include "gpu/profile.h"

namespace chiaro {
namespace {

Error refuse(std::string_view option, std::string why) {
  return {ErrorCode::usage, "\"" + std::string(option) + "\" is no option of a Metal device", std::move(why),
          "use storage=shared, storage=private, checks=off, checks=on, checks=all, no=OP:DTYPE, largest=SIZE, "
          "budget=SIZE or watchdog=TIME",
          ""};
}

// Masks, sizes and times are written as those of isolated devices.
Result<IsolatedSpec> as_isolated(std::string_view option, std::string_view rewritten) {
  auto spec = parse_isolated_spec(std::string(kIsolatedPrefix) + "option," + std::string(rewritten));
  if (!spec.ok()) return refuse(option, spec.error().why);
  return spec;
}

Status read_option(MetalDeviceOptions& options, std::string_view option) {
  const std::string_view key = option.substr(0, option.find('='));
  const std::string value(option.substr(std::min(key.size() + 1, option.size())));
  if (key == "storage" && (value == "private" || value == "shared")) {
    options.private_storage = value == "private";
  } else if (key == "checks" && (value == "off" || value == "on" || value == "all")) {
    options.checks = value == "off" ? SoftMetalChecks::off : value == "on" ? SoftMetalChecks::on : SoftMetalChecks::all;
  } else if (key == "no") {
    CHIARO_ASSIGN(IsolatedSpec masked, as_isolated(option, option));
    options.mask.insert(options.mask.end(), masked.mask.begin(), masked.mask.end());
  } else if (key == "budget" || key == "largest") {
    CHIARO_ASSIGN(const IsolatedSpec sized, as_isolated(option, "budget=" + value));
    (key == "budget" ? options.budget_bytes : options.largest_buffer_bytes) = sized.budget_bytes;
  } else if (key == "watchdog" && options.name.starts_with(kSoftMetalPrefix)) {
    CHIARO_ASSIGN(const IsolatedSpec timed, as_isolated(option, "delay=" + value));
    options.watchdog_seconds = std::chrono::duration<double>(timed.copy_delay).count();
  } else {
    return refuse(option, "");
  }
  return {};
}

}  // namespace

bool is_metal_spec(std::string_view text) {
  if (text.starts_with(kSoftMetalPrefix)) return true;
  return text.starts_with(kMetalPrefix) && text.size() > kMetalPrefix.size() &&
         std::isdigit(static_cast<unsigned char>(text[kMetalPrefix.size()])) != 0;
}

Result<MetalDeviceOptions> parse_metal_spec(std::string_view text) {
  MetalDeviceOptions options;
  std::string_view rest = text;
  const auto next = [&rest] {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  options.name = std::string(next());
  if (options.name.starts_with(kSoftMetalPrefix)) {
    auto profile = gpu::find_profile(std::string_view(options.name).substr(kSoftMetalPrefix.size()));
    if (!profile.ok()) return std::move(profile).error();
  }
  while (!rest.empty()) {
    if (auto status = read_option(options, next()); !status.ok()) return std::move(status).error().at(options.name);
  }
  return options;
}

}  // namespace chiaro
