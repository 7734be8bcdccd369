#include "backend/isolated/spec.h"

#include <algorithm>
#include <charconv>

#include "ops/catalogue.h"

namespace chiaro {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Error refuse(std::string_view option, std::string why, std::string mend) {
  return {ErrorCode::usage, "\"" + std::string(option) + "\" is no option of an isolated device", std::move(why),
          std::move(mend), ""};
}

struct Unit {
  std::string_view name;
  int64_t factor;
};

// A whole number of at least 0, with one of the units behind it.
Result<int64_t> number(std::string_view option, std::string_view text, std::span<const Unit> units,
                       const std::string& mend) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == unit; });
  if (error != std::errc() || value < 0 || found == units.end() || value > INT64_MAX / found->factor) {
    return refuse(option, "\"" + std::string(text) + "\" is not understood", mend);
  }
  return value * found->factor;
}

Result<MaskEntry> mask_entry(std::string_view option, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  MaskEntry entry;
  entry.op = std::string(parts.front());
  if (entry.op != "*" && find_op(entry.op) == nullptr) {
    return refuse(option, "there is no op \"" + entry.op + "\"", "`chiaro ops list` shows the names; * is all of them");
  }
  for (const std::string_view part : std::span(parts).subspan(1)) {
    DType dtype{};
    if (part == "strided") {
      entry.strided = true;
    } else if (attr_enum_parse(part, dtype)) {
      entry.dtype = dtype;
    } else if (part != "any") {
      return refuse(option, "\"" + std::string(part) + "\" is neither a type nor a layout",
                    "write OP, OP:DTYPE, OP:strided or OP:DTYPE:strided");
    }
  }
  return entry;
}

Status read_option(IsolatedSpec& spec, std::string_view option) {
  static constexpr Unit kBytes[] = {{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}};
  static constexpr Unit kMicroseconds[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}};
  static constexpr Unit kPlain[] = {{"", 1}};
  const size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
  if (value.empty()) return refuse(option, "there is no value", "write KEY=VALUE");
  if (key == "no") {
    for (const std::string_view part : split(value, '+')) {
      CHIARO_ASSIGN(MaskEntry entry, mask_entry(option, part));
      spec.mask.push_back(std::move(entry));
    }
  } else if (key == "addresses") {
    for (const std::string_view part : split(value, '+')) spec.addresses.emplace_back(part);
  } else if (key == "budget") {
    CHIARO_ASSIGN(spec.budget_bytes, number(option, value, kBytes, "write bytes, as 4096, 512K, 64M or 2G"));
  } else if (key == "delay") {
    CHIARO_ASSIGN(const int64_t us, number(option, value, kMicroseconds, "write a time, as 200us, 5ms or 1s"));
    spec.copy_delay = std::chrono::microseconds(us);
  } else if (key == "seed") {
    CHIARO_ASSIGN(const int64_t seed, number(option, value, kPlain, "write a whole number"));
    spec.seed = static_cast<uint64_t>(seed);
  } else if (key == "fail") {
    CHIARO_ASSIGN(spec.fail_at, number(option, value, kPlain, "write which allocation, counted from 1"));
  } else {
    return refuse(option, "there is no key \"" + std::string(key) + "\"",
                  "use no, budget, delay, addresses, seed or fail");
  }
  return {};
}

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

bool MaskEntry::refuses(const Call& call) const {
  if (op != "*" && op != call.op->name) return false;
  const auto hit = [&](auto&& of_operand) {
    const auto present = [&](const Operand& o) { return o.present && of_operand(o.desc); };
    return std::any_of(call.inputs.begin(), call.inputs.end(), present) || present(call.output);
  };
  if (dtype && !hit([&](const TensorDesc& d) { return d.dtype == *dtype; })) return false;
  return !strided || hit([](const TensorDesc& d) { return !d.contiguous(); });
}

std::string MaskEntry::text() const {
  std::string text = op;
  if (dtype) text += ":" + std::string(dtype_name(*dtype));
  if (strided) text += ":strided";
  return text;
}

Result<IsolatedSpec> parse_isolated_spec(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  IsolatedSpec spec;
  spec.name = std::string(parts.front());
  const std::string_view own = parts.front().substr(std::min(kIsolatedPrefix.size(), parts.front().size()));
  if (!parts.front().starts_with(kIsolatedPrefix) || own.empty() ||
      !std::all_of(own.begin(), own.end(), name_character)) {
    return Error{ErrorCode::usage, "\"" + spec.name + "\" is no name of an isolated device", "",
                 "write isolated:NAME, of letters, digits, _ - and .", ""};
  }
  for (const std::string_view option : std::span(parts).subspan(1)) {
    if (auto status = read_option(spec, option); !status.ok()) return std::move(status).error().at(spec.name);
  }
  return spec;
}

std::vector<std::string> split_devices(std::string_view list) {
  std::vector<std::string> devices;
  for (const std::string_view part : split(list, ',')) {
    if (part.find('=') == std::string_view::npos || devices.empty()) {
      devices.emplace_back(part);
    } else {
      devices.back() += "," + std::string(part);
    }
  }
  return devices;
}

}  // namespace chiaro
