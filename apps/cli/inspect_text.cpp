#include "inspect_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace chiaro::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostMetadata = 200;  // bytes of a value
constexpr size_t kMostNames = 20;      // of left-over tensors; the JSON has all

// A text from a file, for a terminal: control characters would move the cursor or colour the screen.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string name_lines(const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = fmt::format("{:<11} {}\n", title, names.size());
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i) text += fmt::format("  {}\n", printable(names[i]));
  if (names.size() > kMostNames) text += fmt::format("  ... and {} more (--json has all)\n", names.size() - kMostNames);
  return text;
}

using Dtypes = std::vector<std::pair<std::string, int64_t>>;

ordered_json dtypes_json(const Dtypes& dtypes) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, tensors] : dtypes) json[name] = tensors;
  return json;
}

ordered_json component_json(const ComponentInfo& c) {
  return {{"role", c.role},       {"family", c.family},
          {"tensors", c.tensors}, {"parameters", c.parameters},
          {"bytes", c.bytes},     {"dtypes", dtypes_json(c.dtypes)}};
}

ordered_json files_json(const std::vector<FileMetadata>& files) {
  ordered_json json = ordered_json::array();
  for (const FileMetadata& m : files) {
    json.push_back({{"file", m.file}, {"format", m.format}, {"metadata", m.entries}});
  }
  return json;
}

std::string component_line(const std::string& name, int64_t tensors, int64_t parameters, int64_t bytes,
                           const Dtypes& dtypes) {
  std::string types;
  for (const auto& [dtype, count] : dtypes) types += fmt::format(" {} {},", count, dtype);
  if (!types.empty()) types.pop_back();
  return fmt::format("{:<11} {}: {} tensors, {:.2f} M parameters, {:.1f} MiB,{}\n", "component", name, tensors,
                     static_cast<double>(parameters) / 1e6, static_cast<double>(bytes) / 0x1p20, types);
}

std::string files_lines(const std::vector<FileMetadata>& files) {
  std::string text;
  for (const FileMetadata& m : files) {
    text += fmt::format("{:<11} {} ({})\n", "file", printable(m.file), m.format);
    for (const auto& [key, value] : m.entries) {
      const bool whole = value.size() <= kMostMetadata;
      text += fmt::format("  {}: {}{}\n", printable(key), printable(value.substr(0, kMostMetadata)),
                          whole ? "" : " ... (--json has all)");
    }
  }
  return text;
}

std::string odd_lines(const std::vector<std::string>& odd) {
  std::string text;
  for (const std::string& sentence : odd) text += fmt::format("{:<11} {}\n", "odd", printable(sentence));
  return text;
}

std::string dump(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string weights_lines(const WeightsReport& report) {
  const models::Identity& id = report.identity;
  std::string text = fmt::format("{:<11} {}\n{:<11} {}\n", "weights", printable(report.path), "is", id.is);
  for (const models::IdentifiedPart& p : id.parts) {
    const std::string name = fmt::format("{} ({}{}{})", p.role, p.what, p.prefix.empty() ? "" : ", below ", p.prefix);
    text += component_line(printable(name), p.tensors, p.parameters, p.bytes, p.dtypes);
  }
  return text + files_lines(report.files) + odd_lines(id.odd) + name_lines("unused", id.unused) +
         name_lines("skipped", report.skipped);
}

std::string weights_json(const WeightsReport& report) {
  const models::Identity& id = report.identity;
  ordered_json components = ordered_json::array();
  for (const models::IdentifiedPart& p : id.parts) {
    components.push_back({{"role", p.role},
                          {"family", p.what},
                          {"prefix", p.prefix},
                          {"tensors", p.tensors},
                          {"parameters", p.parameters},
                          {"bytes", p.bytes},
                          {"dtypes", dtypes_json(p.dtypes)}});
  }
  return dump({{"weights", report.path},
               {"is", id.is},
               {"components", components},
               {"files", files_json(report.files)},
               {"odd", id.odd},
               {"unused", id.unused},
               {"skipped", report.skipped}});
}

std::string model_lines(const ModelInfo& info, const std::vector<FileMetadata>& files,
                        const std::vector<std::string>& odd) {
  std::string text = fmt::format("{:<11} {}\n{:<11} {}\n{:<11} {}\n", "model", printable(info.path), "family",
                                 printable(info.family), "kind", info.kind);
  for (const ComponentInfo& c : info.components) {
    text += component_line(c.role + " (" + c.family + ")", c.tensors, c.parameters, c.bytes, c.dtypes);
  }
  text += fmt::format("{:<11} {}\n{:<11} {}\n{:<11} {}x{}\n", "prediction", info.prediction, "sampler",
                      info.default_sampler, "size", info.default_width, info.default_height);
  return text + files_lines(files) + odd_lines(odd) + name_lines("unused", info.unused) +
         name_lines("missing", info.missing) + name_lines("skipped", info.skipped);
}

std::string model_json(const ModelInfo& info, const std::vector<FileMetadata>& files,
                       const std::vector<std::string>& odd) {
  ordered_json components = ordered_json::array();
  for (const ComponentInfo& c : info.components) components.push_back(component_json(c));
  return dump({{"model", info.path},
               {"family", info.family},
               {"kind", info.kind},
               {"components", components},
               {"prediction", info.prediction},
               {"default_sampler", info.default_sampler},
               {"default_width", info.default_width},
               {"default_height", info.default_height},
               {"files", files_json(files)},
               {"odd", odd},
               {"unused", info.unused},
               {"missing", info.missing},
               {"skipped", info.skipped}});
}

std::string picture_lines(const Image& image, const PngText& text) {
  std::string out = fmt::format("picture {}x{}\n", image.width, image.height);
  for (const auto& [keyword, value] : text) out += fmt::format("\n[{}]\n{}\n", printable(keyword), printable(value));
  if (text.empty()) out += "no text: nothing says how it was made\n";
  return out;
}

std::string picture_json(const Image& image, const PngText& text) {
  ordered_json chunks = ordered_json::object();
  for (const auto& [keyword, value] : text) {
    const ordered_json parsed = ordered_json::parse(value, nullptr, false);
    chunks[keyword] = parsed.is_object() ? parsed : ordered_json(value);
  }
  return dump({{"width", image.width}, {"height", image.height}, {"text", chunks}});
}

}  // namespace chiaro::cli
