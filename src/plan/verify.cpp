// The verifier: a symbolic run of a plan. Memory is a map from intervals to what they hold; see verify.h for the rules.
#include "plan/verify.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace chiaro {
namespace {

constexpr int64_t kStorageAlignment = 64;  // what kernels are promised of the arena's storages and of scratch
constexpr int64_t kMostRuns = 1 << 14;     // beyond this many runs two strided views count as touching

// The bytes of a strided view, counted from its first: runs of `run` bytes, repeated along `dims` (strides ascend).
struct Extent {
  int64_t run = 0;  // 0: no bytes at all
  int rank = 0;
  std::array<std::pair<int64_t, int64_t>, kMaxRank> dims{};  // stride in bytes, count

  int64_t span() const {
    int64_t end = run;
    for (int d = 0; d < rank; ++d)
      end += dims[static_cast<size_t>(d)].first * (dims[static_cast<size_t>(d)].second - 1);
    return end;
  }
  int64_t runs() const {
    int64_t n = run > 0 ? 1 : 0;
    for (int d = 0; d < rank; ++d) n *= dims[static_cast<size_t>(d)].second;
    return n;
  }
};

Extent extent_of(const TensorDesc& desc) {
  Extent e;
  if (desc.count() == 0) return e;
  if (is_block(desc.dtype)) return {desc.dense_bytes(), 0, {}};
  e.run = unit_bytes(desc.dtype);
  std::array<std::pair<int64_t, int64_t>, kMaxRank> dims{};
  size_t n = 0;
  for (int d = 0; d < desc.rank(); ++d) {
    if (desc.shape[d] > 1 && desc.strides[d] != 0) dims[n++] = {desc.strides[d] * e.run, desc.shape[d]};
  }
  std::sort(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(n));
  for (size_t i = 0; i < n; ++i) {
    const auto [stride, count] = dims[i];
    if (e.rank == 0 && stride <= e.run) {
      e.run += stride * (count - 1);
    } else if (stride < e.span()) {  // rows that interleave: taken as solid
      e = {e.span() + stride * (count - 1), 0, {}};
    } else {
      e.dims[static_cast<size_t>(e.rank++)] = {stride, count};
    }
  }
  return e;
}

// Whether a byte of `e` lies in [a, b), both counted from e's first byte.
bool touches(const Extent& e, int64_t a, int64_t b) {
  if (e.run == 0) return false;
  for (int d = e.rank - 1; d >= 0; --d) {
    if (b <= 0 || a >= b) return false;
    const auto [stride, count] = e.dims[static_cast<size_t>(d)];
    const int64_t next = a <= 0 ? 0 : (a + stride - 1) / stride;  // the first block that starts in or behind [a, b)
    if (next < count && next * stride < b) return true;
    const int64_t before = std::min(next, count) - 1;  // the only one that may reach in from below
    if (before < 0) return false;
    a -= before * stride;
    b -= before * stride;
  }
  return a < b && a < e.run && b > 0;
}

// Whether a byte of [a, b) belongs to both views; `at_x`, `at_y`: where their first bytes lie.
bool common_byte(Extent x, int64_t at_x, Extent y, int64_t at_y, int64_t a, int64_t b) {
  if (x.runs() > y.runs()) {
    std::swap(x, y);
    std::swap(at_x, at_y);
  }
  if (x.run == 0 || y.run == 0 || !touches(x, a - at_x, b - at_x) || !touches(y, a - at_y, b - at_y)) return false;
  if (x.runs() > kMostRuns) return true;
  std::array<int64_t, kMaxRank> index{};
  for (int64_t n = x.runs(); n > 0; --n) {
    int64_t start = at_x;
    for (int d = 0; d < x.rank; ++d) start += index[static_cast<size_t>(d)] * x.dims[static_cast<size_t>(d)].first;
    if (touches(y, std::max(a, start) - at_y, std::min(b, start + x.run) - at_y)) return true;
    for (int d = 0; d < x.rank; ++d) {
      if (++index[static_cast<size_t>(d)] < x.dims[static_cast<size_t>(d)].second) break;
      index[static_cast<size_t>(d)] = 0;
    }
  }
  return false;
}

constexpr int32_t kNothing = -1, kScratch = -2;

// Byte home + b of the arena is byte b of `storage`, as it is at `version`.
struct Holding {
  int32_t storage = kNothing;
  int32_t version = 0;
  int64_t home = 0;
};

class Arena {
 public:
  explicit Arena(int64_t bytes) : bytes_(bytes) { segments_[0] = {bytes, {}}; }
  int64_t bytes() const { return bytes_; }

  // Calls f(begin, end, holding) for the parts of [begin, end) in order, until it returns false.
  template <class F>
  bool all(int64_t begin, int64_t end, F&& f) {
    if (begin >= end) return true;
    for (auto it = std::prev(segments_.upper_bound(begin)); it != segments_.end() && it->first < end; ++it) {
      if (!f(std::max(begin, it->first), std::min(end, it->second.end), it->second.holding)) return false;
    }
    return true;
  }

  void set(int64_t begin, int64_t end, const Holding& holding) {
    if (begin >= end) return;
    cut(end);
    const auto first = cut(begin);
    first->second = {end, holding};
    segments_.erase(std::next(first), segments_.lower_bound(end));
  }

 private:
  struct Segment {
    int64_t end = 0;
    Holding holding;
  };
  using Segments = std::map<int64_t, Segment>;

  // Makes a segment start at `at`.
  Segments::iterator cut(int64_t at) {
    const auto it = std::prev(segments_.upper_bound(at));
    if (it->first == at || at >= bytes_) return it;
    const Segment rest = it->second;
    it->second.end = at;
    return segments_.emplace_hint(std::next(it), at, rest);
  }

  int64_t bytes_;
  Segments segments_;  // by their beginning; they cover the arena without gaps
};

std::string range_text(int64_t begin, int64_t end) {
  return "[" + std::to_string(begin) + "," + std::to_string(end) + ")";
}

std::string ref_text(const MemRef& ref) {
  constexpr std::array<const char*, 4> kNames{"nowhere", "arena", "input", "weight"};
  return std::string(kNames[static_cast<size_t>(ref.region)]) + std::to_string(ref.index) + "+" +
         std::to_string(ref.offset);
}

class Verifier {
 public:
  explicit Verifier(const ExecutionPlan& plan)
      : plan_(plan),
        graph_(plan.graph),
        storages_(plan.graph.storages().size()),
        ran_(plan.graph.nodes().size(), false) {}

  Status run() {
    CHIARO_TRY(verify_graph(graph_));
    if (plan_.devices.empty() || plan_.arena_bytes < 0) return error("the plan has no device or no size", "", "");
    arenas_.assign(plan_.devices.size(), Arena(plan_.arena_bytes));
    for (const Node& node : graph_.nodes()) {
      if (node.op->kind == OpKind::inplace) state(graph_.info(node.output).storage).writes.push_back(node.output);
    }
    CHIARO_TRY(take_sources());
    for (const PlanStep& step : plan_.steps) {
      if (auto status = replay(step); !status.ok()) return status;
    }
    for (size_t i = 0; i < ran_.size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.op->kind != OpKind::view && !ran_[i]) {
        return error("no step runs node " + std::to_string(i), std::string(node.op->name), node.label);
      }
    }
    return check_outputs();
  }

 private:
  struct State {
    MemRef home;                // of its byte 0; region none until it is made
    std::vector<Value> writes;  // the value that makes version i + 1
    int32_t version = 0;        // the newest that is made: in-place steps of one storage run in order
  };

  State& state(int32_t storage) { return storages_[static_cast<size_t>(storage)]; }

  static Error error(std::string what, std::string why, const std::string& label) {
    return {ErrorCode::internal, "the plan is wrong: " + std::move(what), std::move(why),
            "this is our own mistake; please report it with the output of `chiaro plan`", label};
  }

  std::string value_text(Value v) const {
    const ValueInfo& info = graph_.info(v);
    return "%" + std::to_string(v.id) + " (storage " + std::to_string(info.storage) + ", version " +
           std::to_string(info.version) + ", " + info.desc.text() + ")";
  }

  // Inputs and weights lie where their ports say, from the start, and stay as they are (no step may write them).
  Status take_sources() {
    if (plan_.inputs.size() != graph_.inputs().size()) return error("it has not all the graph's inputs", "", "");
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const ValueInfo& info = graph_.info(graph_.inputs()[i]);
      const MemRef home{Region::input, static_cast<int32_t>(i), 0};
      const PlanPort& port = plan_.inputs[i];
      if (port.name != graph_.storage(info.storage).name || !(port.desc == info.desc) || !(port.memory == home)) {
        return error("input " + std::to_string(i) + " is not the graph's", ref_text(port.memory), port.name);
      }
      state(info.storage).home = home;
    }
    int32_t weights = 0;
    for (size_t s = 0; s < graph_.storages().size(); ++s) {
      const Storage& storage = graph_.storages()[s];
      if (storage.kind != StorageKind::weight && storage.kind != StorageKind::constant) continue;
      const auto index = static_cast<size_t>(weights);
      if (index >= plan_.weights.size() || plan_.weights[index] != storage.data) {
        return error("weight " + std::to_string(weights) + " is not the graph's", "", storage.name);
      }
      storages_[s].home = {Region::weight, weights++, 0};
    }
    if (plan_.weights.size() != static_cast<size_t>(weights)) return error("it has weights of no graph", "", "");
    return {};
  }

  Status replay(const PlanStep& step) {
    if (step.node < 0 || static_cast<size_t>(step.node) >= ran_.size()) {
      return error("a step runs no node", "node " + std::to_string(step.node), "");
    }
    const Node& node = graph_.nodes()[static_cast<size_t>(step.node)];
    CHIARO_TRY(check_step(step, node));
    ran_[static_cast<size_t>(step.node)] = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const MemRef& ref = step.inputs[i];
      if (!node.inputs[i].valid()) {
        if (ref.region != Region::none) return error("an input left out has memory", ref_text(ref), node.label);
        continue;
      }
      if (ref.region == Region::arena && ref.index != step.device) {
        return error("an operand lies in another device's memory", value_text(node.inputs[i]), node.label);
      }
      CHIARO_TRY(check_read(node.inputs[i], ref, node.label));
    }
    CHIARO_TRY(check_write(step, node));
    CHIARO_TRY(check_scratch(step, node));
    if (step.kernel.scratch_bytes() > 0) {
      arena(step).set(step.scratch_offset, step.scratch_offset + step.kernel.scratch_bytes(), {kScratch, 0, 0});
    }
    if (node.op->kind == OpKind::inplace) return write_in_place(step, node);
    const ValueInfo& out = graph_.info(node.output);
    state(out.storage).home = step.output;
    arena(step).set(step.output.offset, step.output.offset + extent_of(out.desc).run,
                    {out.storage, 0, step.output.offset});
    return {};
  }

  Arena& arena(const PlanStep& step) { return arenas_[static_cast<size_t>(step.device)]; }

  Status check_step(const PlanStep& step, const Node& node) {
    const std::string name(node.op->name);
    if (ran_[static_cast<size_t>(step.node)]) return error("two steps run one node", name, node.label);
    if (node.op->kind == OpKind::view) return error("a step runs a view", name, node.label);
    if (step.device < 0 || static_cast<size_t>(step.device) >= plan_.devices.size()) {
      return error("a step runs on no device", std::to_string(step.device), node.label);
    }
    if (step.inputs.size() != node.inputs.size()) {
      return error("a step has not the inputs of its node", name, node.label);
    }
    const Device& device = *plan_.devices[static_cast<size_t>(step.device)];
    for (const Device* pinned : plan_.devices) {
      if (pinned->traits().name == node.pin && pinned->traits().name != device.traits().name) {
        return error("a node pinned to " + node.pin + " runs on " + device.traits().name, name, node.label);
      }
    }
    for (const Kernel& kernel : device.kernels(node.op->name)) {
      if (kernel.name == step.kernel.kernel()) return {};
    }
    return error("a step has a kernel of another op", name + " is run by " + std::string(step.kernel.kernel()),
                 node.label);
  }

  // Whether byte range [a, b) of a storage is the same at version `have` and `want`, as far as `view` (which starts at
  // byte `at`) looks at it.
  bool same_bytes(int32_t storage, int32_t have, int32_t want, int64_t a, int64_t b, const Extent& view, int64_t at) {
    if (have == want) return true;
    const State& s = state(storage);
    // Steps mark what they write: none of those up to the newest version wrote here after `have`.
    if (have < want && want <= s.version) return true;
    for (int32_t w = std::min(have, want); w < std::max(have, want); ++w) {
      const ValueInfo& write = graph_.info(s.writes[static_cast<size_t>(w)]);
      if (common_byte(extent_of(write.desc), write.offset_bytes, view, at, a, b)) return false;
    }
    return true;
  }

  std::string holding_text(const Holding& h, int64_t a, int64_t b) const {
    const std::string where = "arena" + range_text(a, b) + " holds ";
    if (h.storage == kNothing) return where + "nothing yet";
    if (h.storage == kScratch) return where + "scratch";
    return where + "storage " + std::to_string(h.storage) + " version " + std::to_string(h.version) + " bytes " +
           range_text(a - h.home, b - h.home);
  }

  Status check_read(Value v, const MemRef& ref, const std::string& label) {
    const ValueInfo& info = graph_.info(v);
    const Extent extent = extent_of(info.desc);
    const MemRef& home = state(info.storage).home;
    if (ref.region == Region::none) return error("an operand has no memory", value_text(v), label);
    if (ref.region != Region::arena) {
      const bool is = ref.region == home.region && ref.index == home.index && ref.offset == info.offset_bytes;
      if (!is || info.version != 0) return error(value_text(v) + " is looked for in " + ref_text(ref), "", label);
      if (info.offset_bytes + extent.span() > graph_.storage(info.storage).bytes) {
        return error(value_text(v) + " reaches beyond its storage", ref_text(ref), label);
      }
      return {};
    }
    if (ref.index < 0 || static_cast<size_t>(ref.index) >= arenas_.size()) {
      return error(value_text(v) + " is looked for in " + ref_text(ref), "there is no such arena", label);
    }
    if (auto bounds = check_bounds(v, ref, extent, label); !bounds.ok()) return bounds;
    const int64_t base = ref.offset - info.offset_bytes;
    std::string found;
    arenas_[static_cast<size_t>(ref.index)].all(
        ref.offset, ref.offset + extent.span(), [&](int64_t a, int64_t b, const Holding& h) {
          const bool holds =
              h.storage == info.storage && h.home == base &&
              same_bytes(info.storage, h.version, info.version, a - base, b - base, extent, info.offset_bytes);
          if (holds || !touches(extent, a - ref.offset, b - ref.offset)) return true;
          found = holding_text(h, a, b);
          return false;
        });
    if (found.empty()) return {};
    return error(value_text(v) + " is looked for at " + ref_text(ref), found, label);
  }

  Status check_bounds(Value v, const MemRef& ref, const Extent& extent, const std::string& label) const {
    const int64_t end = ref.offset + extent.span();
    if (ref.offset >= 0 && end <= plan_.arena_bytes) return {};
    return error(value_text(v) + " lies outside the arena",
                 "bytes " + range_text(ref.offset, end) + " of " + std::to_string(plan_.arena_bytes), label);
  }

  Status check_write(const PlanStep& step, const Node& node) {
    const ValueInfo& out = graph_.info(node.output);
    if (step.output.region != Region::arena) {
      return error(value_text(node.output) + " would be written to " + ref_text(step.output),
                   "inputs and weights are never written", node.label);
    }
    if (step.output.index != step.device) {
      return error(value_text(node.output) + " would be written to another device", ref_text(step.output), node.label);
    }
    const Extent extent = extent_of(out.desc);
    CHIARO_TRY(check_bounds(node.output, step.output, extent, node.label));
    if (node.op->kind == OpKind::inplace) {
      const MemRef& home = state(out.storage).home;
      const MemRef here{step.output.region, step.output.index, step.output.offset - out.offset_bytes};
      if (step.output == step.inputs[0] && here == home) return {};
      return error(value_text(node.output) + " is written to " + ref_text(step.output),
                   "its target lives at " + ref_text(home) + " and byte " + std::to_string(out.offset_bytes),
                   node.label);
    }
    if (extent.rank != 0) return error(value_text(node.output) + " is a result that is not dense", "", node.label);
    if (step.output.offset % kStorageAlignment != 0) {
      return error(value_text(node.output) + " starts at " + ref_text(step.output),
                   "storages start at multiples of " + std::to_string(kStorageAlignment), node.label);
    }
    return check_alias(step, node, step.output.offset, step.output.offset + extent.run);
  }

  // A result may take the memory of the operand that its op names: the same bytes of the same shape, and no others.
  Status check_alias(const PlanStep& step, const Node& node, int64_t begin, int64_t end) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!overlaps_operand(step, node, i, begin, end)) continue;
      const bool named = node.op->alias.may_overwrite == static_cast<int>(i);
      const TensorDesc& in = graph_.info(node.inputs[i]).desc;
      if (named && step.inputs[i] == step.output && in == graph_.info(node.output).desc) continue;
      return error(
          value_text(node.output) + " overwrites operand " + value_text(node.inputs[i]),
          std::string(node.op->name) + " may not: " + ref_text(step.output) + " on " + ref_text(step.inputs[i]),
          node.label);
    }
    return {};
  }

  bool overlaps_operand(const PlanStep& step, const Node& node, size_t i, int64_t begin, int64_t end) const {
    const MemRef& ref = step.inputs[i];
    if (!node.inputs[i].valid() || ref.region != Region::arena || ref.index != step.device) return false;
    return touches(extent_of(graph_.info(node.inputs[i]).desc), begin - ref.offset, end - ref.offset);
  }

  Status check_scratch(const PlanStep& step, const Node& node) const {
    const int64_t bytes = step.kernel.scratch_bytes(), begin = step.scratch_offset, end = begin + bytes;
    if (bytes <= 0) return {};
    if (begin < 0 || end > plan_.arena_bytes || begin % kStorageAlignment != 0) {
      return error("scratch lies outside the arena, or is not aligned",
                   "bytes " + range_text(begin, end) + " of " + std::to_string(plan_.arena_bytes), node.label);
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!overlaps_operand(step, node, i, begin, end)) continue;
      return error("scratch lies on operand " + value_text(node.inputs[i]), range_text(begin, end), node.label);
    }
    const Extent out = extent_of(graph_.info(node.output).desc);
    if (touches(out, begin - step.output.offset, end - step.output.offset)) {
      return error("scratch lies on the result " + value_text(node.output), range_text(begin, end), node.label);
    }
    return {};
  }

  // The target was read, so its bytes are those of the version before. Bytes between its rows keep what they hold;
  // where that is of this storage it is as the new version has it, too.
  Status write_in_place(const PlanStep& step, const Node& node) {
    const ValueInfo& out = graph_.info(node.output);
    if (out.version != state(out.storage).version + 1) {
      return error(value_text(node.output) + " is written too early",
                   "the newest version is " + std::to_string(state(out.storage).version), node.label);
    }
    const int64_t begin = step.output.offset, base = begin - out.offset_bytes;
    std::vector<std::pair<int64_t, int64_t>> parts;  // of this storage, joined where they meet
    arena(step).all(begin, begin + extent_of(out.desc).span(), [&](int64_t a, int64_t b, const Holding& h) {
      if (h.storage != out.storage || h.home != base) return true;
      if (!parts.empty() && parts.back().second == a)
        parts.back().second = b;
      else
        parts.emplace_back(a, b);
      return true;
    });
    for (const auto& [a, b] : parts) arena(step).set(a, b, {out.storage, out.version, base});
    state(out.storage).version = out.version;
    return {};
  }

  Status check_outputs() {
    if (plan_.outputs.size() != graph_.outputs().size()) return error("it has not all the graph's outputs", "", "");
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      const PlanPort& port = plan_.outputs[i];
      if (port.name != output.name || !(port.desc == graph_.info(output.value).desc)) {
        return error("output " + std::to_string(i) + " is not the graph's", port.desc.text(), port.name);
      }
      CHIARO_TRY(check_read(output.value, port.memory, "output " + output.name));
    }
    return {};
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  std::vector<State> storages_;
  std::vector<bool> ran_;
  std::vector<Arena> arenas_;  // one per device
};

}  // namespace

Status verify(const ExecutionPlan& plan) {
  return Verifier(plan).run();
}

}  // namespace chiaro
