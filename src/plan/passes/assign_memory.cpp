// alias buffers and assign arena: which storages share memory, and where each lies.
//
// Storages are live from the node that makes them to the last node that reads any view of them. A result may take the
// memory of an operand that dies at its node where the op's alias contract allows it. Offsets: greedy by size (largest
// first, lowest offset that is free over its whole life), which comes close to the lower bound on UNets.
#include <algorithm>
#include <numeric>

#include "core/memory.h"
#include "plan/passes/passes.h"

namespace chiaro {
namespace {

constexpr auto kAlign = static_cast<int64_t>(kHostAlignment);

struct Life {
  int64_t bytes = 0;
  int64_t first = -1, last = -1;  // node indices, both ends included
  int64_t offset = -1;
};

class MemoryAssigner {
 public:
  MemoryAssigner(const Graph& graph, const PlanOptions& options)
      : graph_(graph), lives_(graph.storages().size()), root_(graph.storages().size()) {
    std::iota(root_.begin(), root_.end(), 0);
    find_lives();
    if (options.reuse) merge_overwrites();
  }

  MemoryMap run() {
    std::vector<int32_t> order;
    for (size_t s = 0; s < lives_.size(); ++s) {
      if (root_[s] == static_cast<int32_t>(s) && lives_[s].first >= 0 && lives_[s].bytes > 0) {
        order.push_back(static_cast<int32_t>(s));
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return life(a).bytes > life(b).bytes; });
    MemoryMap map;
    std::vector<int32_t> placed;
    for (const int32_t s : order) {
      place(s, placed);
      map.arena_bytes = std::max(map.arena_bytes, life(s).offset + life(s).bytes);
    }
    map.lower_bound_bytes = lower_bound(order);
    fill_refs(map);
    return map;
  }

 private:
  Life& life(int32_t s) { return lives_[static_cast<size_t>(s)]; }
  bool is_temp(int32_t s) const { return graph_.storage(s).kind == StorageKind::temp; }

  void touch(Value v, int64_t when) {
    if (!v.valid()) return;
    const int32_t s = graph_.info(v).storage;
    if (!is_temp(s)) return;
    Life& l = life(s);
    if (l.first < 0) l = {(graph_.storage(s).bytes + kAlign - 1) / kAlign * kAlign, when, when, -1};
    l.last = std::max(l.last, when);
  }

  void find_lives() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.op->kind == OpKind::view) continue;
      for (const Value v : node.inputs) touch(v, static_cast<int64_t>(i));
      touch(node.output, static_cast<int64_t>(i));
    }
    const auto end = static_cast<int64_t>(graph_.nodes().size());
    for (const GraphOutput& output : graph_.outputs()) touch(output.value, end);
  }

  // The result of node i takes the memory of its operand, if the operand's storage is exactly that value and dies here.
  void merge_overwrites() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      const int taken = node.op->alias.may_overwrite;
      if (node.op->kind != OpKind::compute || taken < 0) continue;
      const Value v = node.inputs[static_cast<size_t>(taken)];
      if (!v.valid()) continue;
      const ValueInfo& in = graph_.info(v);
      const ValueInfo& out = graph_.info(node.output);
      const int32_t from = root_[static_cast<size_t>(in.storage)];
      if (!is_temp(in.storage) || in.offset_bytes != 0 || !(in.desc == out.desc)) continue;
      if (life(from).last != static_cast<int64_t>(i)) continue;
      if (graph_.storage(in.storage).bytes != graph_.storage(out.storage).bytes) continue;
      const auto shares = [&](Value w) {
        return w.valid() && w != v && root_[static_cast<size_t>(graph_.info(w).storage)] == from;
      };
      if (std::any_of(node.inputs.begin(), node.inputs.end(), shares)) continue;
      if (std::count(node.inputs.begin(), node.inputs.end(), v) > 1) continue;
      root_[static_cast<size_t>(out.storage)] = from;
      life(from).last = std::max(life(from).last, life(out.storage).last);
    }
  }

  void place(int32_t s, std::vector<int32_t>& placed) {
    Life& l = life(s);
    l.offset = 0;
    for (const int32_t other : placed) {  // sorted by offset
      const Life& o = life(other);
      if (o.last < l.first || l.last < o.first) continue;
      if (l.offset + l.bytes <= o.offset) break;
      l.offset = std::max(l.offset, o.offset + o.bytes);
    }
    const auto at = std::upper_bound(placed.begin(), placed.end(), l.offset,
                                     [&](int64_t offset, int32_t other) { return offset < life(other).offset; });
    placed.insert(at, s);
  }

  int64_t lower_bound(const std::vector<int32_t>& roots) {
    std::vector<int64_t> change(graph_.nodes().size() + 2, 0);
    for (const int32_t s : roots) {
      change[static_cast<size_t>(life(s).first)] += life(s).bytes;
      change[static_cast<size_t>(life(s).last) + 1] -= life(s).bytes;
    }
    int64_t now = 0, most = 0;
    for (const int64_t c : change) most = std::max(most, now += c);
    return most;
  }

  void fill_refs(MemoryMap& map) {
    int32_t weights = 0, inputs = 0;
    map.storage.resize(lives_.size());
    for (size_t s = 0; s < lives_.size(); ++s) {
      const StorageKind kind = graph_.storages()[s].kind;
      if (kind == StorageKind::input)
        map.storage[s] = {Region::input, inputs++, 0};
      else if (kind != StorageKind::temp)
        map.storage[s] = {Region::weight, weights++, 0};
      else
        map.storage[s] = {Region::arena, 0, std::max<int64_t>(life(root_[s]).offset, 0)};
    }
  }

  const Graph& graph_;
  std::vector<Life> lives_;
  std::vector<int32_t> root_;  // storage whose memory this one uses
};

}  // namespace

MemoryMap assign_memory(const Graph& graph, const PlanOptions& options) {
  return MemoryAssigner(graph, options).run();
}

}  // namespace chiaro
