// Graph text out.
#include <fmt/format.h>

#include <span>

#include "graph/text.h"

namespace chiaro {
namespace {

std::string value_text(Value v) {
  return v.valid() ? fmt::format("%{}", v.id) : std::string("_");
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    out += c;
  }
  return out + "\"";
}

std::string value_of(const AttrValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return in_quotes(*text);
  const auto* function = std::get_if<std::shared_ptr<const HostFunction>>(&value);
  if (function != nullptr && *function != nullptr) return in_quotes((*function)->name);
  return attr_text(value);
}

std::string attrs_text(const Node& node) {
  std::string out;
  for (const auto& [name, value] : node.attrs) {
    const AttrValue* usual = find_attr(node.op->default_attrs, name);
    if (usual != nullptr && *usual == value) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, value_of(value));
  }
  return out.empty() ? out : " {" + out + "}";
}

std::string node_text(const Graph& graph, const Node& node) {
  std::span<const Value> given(node.inputs);
  while (!given.empty() && !given.back().valid()) given = given.first(given.size() - 1);
  std::string inputs;
  for (const Value v : given) inputs += (inputs.empty() ? "" : ", ") + value_text(v);
  std::string line = fmt::format("{} = {}({}){} : {}", value_text(node.output), node.op->name, inputs, attrs_text(node),
                                 graph.info(node.output).desc.text());
  if (!node.module.empty()) line += " module=" + in_quotes(node.module);
  if (!node.pin.empty()) line += " pin=" + in_quotes(node.pin);
  if (!node.device.empty()) line += " on=" + in_quotes(node.device);
  if (!node.moved.empty()) line += " moved=" + in_quotes(node.moved);
  if (node.on_copy) line += " on_copy=true";
  if (!node.label.empty()) line += "  # " + node.label;
  return line + "\n";
}

std::string source_text(const Graph& graph, Value v) {
  const Storage& storage = graph.storage_of(v);
  const char* kind = storage.kind == StorageKind::input    ? "input"
                     : storage.kind == StorageKind::weight ? "weight"
                                                           : "constant";
  return fmt::format("{} = {} {} : {}\n", value_text(v), kind, in_quotes(storage.name), graph.info(v).desc.text());
}

}  // namespace

std::string print_graph(const Graph& graph) {
  std::string out;
  // Values are numbered in the order they were made, so sources and nodes come in that order.
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const int32_t producer = graph.values()[i].producer;
    out += producer < 0 ? source_text(graph, Value{static_cast<int32_t>(i)})
                        : node_text(graph, graph.nodes()[static_cast<size_t>(producer)]);
  }
  for (const GraphOutput& output : graph.outputs()) {
    out += fmt::format("output {} {}\n", in_quotes(output.name), value_text(output.value));
  }
  return out;
}

}  // namespace chiaro
