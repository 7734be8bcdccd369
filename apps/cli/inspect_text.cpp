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

ordered_json component_json(const ComponentInfo& c) {
  ordered_json dtypes = ordered_json::object();
  for (const auto& [name, tensors] : c.dtypes) dtypes[name] = tensors;
  return {{"role", c.role},   {"family", c.family}, {"tensors", c.tensors}, {"parameters", c.parameters},
          {"bytes", c.bytes}, {"dtypes", dtypes}};
}

std::string dump(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string model_lines(const ModelInfo& info, const std::vector<FileMetadata>& metadata) {
  std::string text = fmt::format("{:<11} {}\n{:<11} {}\n{:<11} {}\n", "model", printable(info.path), "family",
                                 printable(info.family), "kind", info.kind);
  for (const ComponentInfo& c : info.components) {
    std::string dtypes;
    for (const auto& [name, tensors] : c.dtypes) dtypes += fmt::format(" {} {},", tensors, name);
    if (!dtypes.empty()) dtypes.pop_back();
    text += fmt::format("{:<11} {}: {} tensors, {:.2f} M parameters, {:.1f} MiB,{}\n", "component",
                        c.role + " (" + c.family + ")", c.tensors, static_cast<double>(c.parameters) / 1e6,
                        static_cast<double>(c.bytes) / 0x1p20, dtypes);
  }
  text += fmt::format("{:<11} {}\n{:<11} {}\n{:<11} {}x{}\n", "prediction", info.prediction, "sampler",
                      info.default_sampler, "size", info.default_width, info.default_height);
  for (const FileMetadata& m : metadata) {
    text += fmt::format("{:<11} {}\n", "metadata", printable(m.file));
    for (const auto& [key, value] : m.entries) {
      const bool whole = value.size() <= kMostMetadata;
      text += fmt::format("  {}: {}{}\n", printable(key), printable(value.substr(0, kMostMetadata)),
                          whole ? "" : " ... (--json has all)");
    }
  }
  return text + name_lines("unused", info.unused) + name_lines("missing", info.missing) +
         name_lines("skipped", info.skipped);
}

std::string model_json(const ModelInfo& info, const std::vector<FileMetadata>& metadata) {
  ordered_json components = ordered_json::array();
  for (const ComponentInfo& c : info.components) components.push_back(component_json(c));
  ordered_json files = ordered_json::array();
  for (const FileMetadata& m : metadata) files.push_back({{"file", m.file}, {"metadata", m.entries}});
  return dump({{"model", info.path},
               {"family", info.family},
               {"kind", info.kind},
               {"components", components},
               {"prediction", info.prediction},
               {"default_sampler", info.default_sampler},
               {"default_width", info.default_width},
               {"default_height", info.default_height},
               {"files", files},
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
