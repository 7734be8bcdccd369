// Preferences and abilities: what pins, weights and modules ask for, and what devices can do.
#include "plan/passes/placement.h"

#include <algorithm>
#include <numeric>

#include "plan/passes/legaliser.h"

namespace chiaro {
namespace {

// Whether `name` matches `pattern`, where * stands for any text and ? for one character.
bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string device_names(const PassContext& context) {
  std::string names;
  for (const Device* device : context.devices) names += (names.empty() ? "" : ", ") + device->traits().name;
  return names;
}

Result<int32_t> device_named(const std::string& name, const PassContext& context, const std::string& what) {
  const int32_t index = context.find(name);
  if (index >= 0) return index;
  return Error{ErrorCode::usage, what + " names device \"" + name + "\"", "the devices are " + device_names(context),
               "use one of these, or add it with --devices", ""};
}

class Preferences {
 public:
  Preferences(const Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), preferred_(graph.nodes().size(), -1) {}

  Result<std::vector<int32_t>> run() {
    CHIARO_TRY(modules());
    CHIARO_TRY(weights());
    CHIARO_TRY(pins());
    return std::move(preferred_);
  }

 private:
  Status modules() {
    for (const auto& entry : context_.options.placement.modules) {
      const std::string& module = entry.first;
      std::vector<int32_t> devices;
      for (const std::string& name : entry.second) {
        CHIARO_ASSIGN(const int32_t index, device_named(name, context_, "the placement of " + module));
        devices.push_back(index);
      }
      // A module of its own name goes before "all".
      const auto member = [&](const Node& node) {
        if (node.op->kind == OpKind::view) return false;
        return module == "all" ? !context_.options.placement.modules.contains(node.module) : node.module == module;
      };
      if (!devices.empty()) split(devices, member);
    }
    return {};
  }

  // Layers in program order, cut where the share of weight bytes passes the share of the devices' free memory.
  template <class Member>
  void split(const std::vector<int32_t>& devices, const Member& member) {
    std::vector<double> bytes(graph_.nodes().size(), 0);
    std::vector<bool> seen(graph_.storages().size(), false);
    double total = 0;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!member(graph_.nodes()[i])) continue;
      for (const Value v : graph_.nodes()[i].inputs) {
        if (!v.valid()) continue;
        const auto s = static_cast<size_t>(graph_.info(v).storage);
        if (graph_.storages()[s].kind != StorageKind::weight || seen[s]) continue;
        seen[s] = true;
        bytes[i] += static_cast<double>(graph_.storages()[s].bytes);
      }
      total += bytes[i];
    }
    const std::vector<double> ends = shares(devices);
    double done = 0;
    size_t at = 0;
    std::string layer;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (!member(node)) continue;
      const std::string now = layer_of(node.label);
      // Only a new layer may start on the next device; a graph without weights stays on the first.
      if (now != layer && total > 0) {
        while (at + 1 < devices.size() && done / total >= ends[at]) ++at;
      }
      layer = now;
      done += bytes[i];
      preferred_[i] = devices[at];
    }
  }

  // The first two parts of a label: "down.1" of "down.1.res.0.norm1".
  static std::string layer_of(const std::string& label) {
    const size_t dot = label.find('.');
    return dot == std::string::npos ? label : label.substr(0, label.find('.', dot + 1));
  }

  // The running sum of each device's part of the free memory; equal parts where one does not say.
  std::vector<double> shares(const std::vector<int32_t>& devices) const {
    std::vector<double> free;
    for (const int32_t d : devices) {
      free.push_back(static_cast<double>(context_.devices[static_cast<size_t>(d)]->free_bytes()));
    }
    const bool unknown = std::any_of(free.begin(), free.end(), [](double bytes) { return bytes < 0; });
    if (unknown || std::accumulate(free.begin(), free.end(), 0.0) <= 0) free.assign(devices.size(), 1);
    const double all = std::accumulate(free.begin(), free.end(), 0.0);
    double sum = 0;
    for (double& share : free) share = (sum += share) / all;
    return free;
  }

  Status weights() {
    for (const auto& [pattern, name] : context_.options.placement.weights) {
      CHIARO_TRY(device_named(name, context_, "the placement of weights " + pattern));
    }
    if (context_.options.placement.weights.empty()) return {};
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.op->kind == OpKind::view) continue;
      for (const Value v : node.inputs) {
        const int32_t index = v.valid() ? of_weight(graph_.storage_of(v)) : -1;
        if (index < 0) continue;
        preferred_[i] = index;
        break;
      }
    }
    return {};
  }

  int32_t of_weight(const Storage& storage) const {
    if (storage.kind != StorageKind::weight) return -1;
    for (const auto& [pattern, name] : context_.options.placement.weights) {
      if (matches(pattern, storage.name)) return context_.find(name);
    }
    return -1;
  }

  Status pins() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.pin.empty() || node.op->kind == OpKind::view) continue;
      CHIARO_ASSIGN(
          preferred_[i],
          device_named(node.pin, context_, node.label.empty() ? std::string("a pin") : "the pin of " + node.label));
    }
    return {};
  }

  const Graph& graph_;
  const PassContext& context_;
  std::vector<int32_t> preferred_;
};

}  // namespace

Result<std::vector<int32_t>> preferred_devices(const Graph& graph, const PassContext& context) {
  return Preferences(graph, context).run();
}

Status fits(const Device& device, const Graph& graph, const Node& node) {
  auto direct = choose_kernel(device, graph, node);
  if (direct.ok()) return {};
  // What legalise would make of it, tried in a graph of its own.
  GraphBuilder trial;
  std::vector<Value> ports;
  for (const Value v : node.inputs) ports.push_back(v.valid() ? trial.input("", graph.info(v).desc) : kNone);
  int changes = 0;
  Legaliser(device, trial, changes).emit(*node.op, node.attrs, std::move(ports));
  if (!trial.failed()) return {};
  return std::move(direct).error();
}

std::vector<int32_t> storage_owners(const Graph& graph, const PassContext& context) {
  std::vector<int32_t> owners(graph.storages().size(), -1);
  for (const Node& node : graph.nodes()) {
    if (node.op->kind != OpKind::compute) continue;
    owners[static_cast<size_t>(graph.info(node.output).storage)] = context.find(node.device);
  }
  return owners;
}

}  // namespace chiaro
