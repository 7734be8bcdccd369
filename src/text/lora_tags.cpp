// <lora:name:weight> tags. A name may later be looked up in a folder, so nothing that could leave the folder is let
// through.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "text/decimal.h"
#include "text/prompt.h"
#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr std::string_view kOpening = "<lora:";
constexpr std::size_t kMaxName = 255;   // bytes; what file systems take
constexpr std::size_t kMaxShown = 120;  // bytes of a refused tag that are kept for the report

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Why a name is refused; empty where it is fine.
std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "it has no name";
  if (name.size() > kMaxName) return "its name is longer than 255 bytes";
  if (name.find_first_of("/\\") != std::string_view::npos) return "a name may not hold a path separator";
  if (name.find("..") != std::string_view::npos) return "a name may not hold \"..\"";
  if (name == ".") return "\".\" is a folder";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "a name may not hold control characters";
  }
  if (encode_utf8(decode_utf8(name)) != name) return "its name is not valid UTF-8";
  return {};
}

// The fields between "<lora:" and ">": a name, then none, one or two weights; or te=… and unet=…
std::string parse_fields(std::string_view fields, LoraTag& tag) {
  std::size_t colon = fields.find(':');
  const std::string_view name = trimmed(fields.substr(0, colon));
  if (const std::string_view fault = name_fault(name); !fault.empty()) return std::string(fault);
  tag.name = std::string(name);
  std::optional<double> text_weight;
  std::optional<double> model_weight;
  while (colon != std::string_view::npos) {
    fields.remove_prefix(colon + 1);
    colon = fields.find(':');
    std::string_view field = trimmed(fields.substr(0, colon));
    std::optional<double>* target = !text_weight ? &text_weight : !model_weight ? &model_weight : nullptr;
    if (field.substr(0, 3) == "te=") {
      target = &text_weight;
      field.remove_prefix(3);
    } else if (field.substr(0, 5) == "unet=") {
      target = &model_weight;
      field.remove_prefix(5);
    }
    if (target == nullptr || *target) return "it has more weights than text encoder and model";
    *target = parse_decimal(field);
    if (!*target) return fmt::format("\"{}\" is not a weight", encode_utf8(decode_utf8(field.substr(0, kMaxShown))));
  }
  tag.text_weight = text_weight.value_or(1.0);
  tag.model_weight = model_weight.value_or(tag.text_weight);
  return {};
}

}  // namespace

std::string extract_lora_tags(std::string_view text, Prompt& prompt) {
  std::string rest;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = text.find(kOpening, at);
    const std::size_t end = start == std::string_view::npos ? start : text.find('>', start);
    if (end == std::string_view::npos) break;  // no tag from here on, whatever follows
    const std::string_view fields = text.substr(start + kOpening.size(), end - start - kOpening.size());
    rest += text.substr(at, start - at);
    at = end + 1;
    LoraTag tag;
    std::string fault = parse_fields(fields, tag);
    if (fault.empty()) {
      prompt.loras.push_back(std::move(tag));
    } else {
      const std::string_view written = text.substr(start, std::min(kMaxShown, at - start));
      prompt.refused.push_back({encode_utf8(decode_utf8(written)), std::move(fault)});
    }
  }
  rest += text.substr(at);
  return rest;
}

}  // namespace chiaro
