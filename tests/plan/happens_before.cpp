#include "happens_before.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

namespace chiaro::testing {
namespace {

// What one byte holds: byte `at` of a storage, as the write of `version` left it. Nothing that is right: storage -1.
struct Cell {
  int32_t storage = -1, version = -1;
  int64_t at = -1;
  bool operator==(const Cell&) const = default;
};

std::vector<int64_t> bytes_of(const TensorDesc& desc) {
  std::set<int64_t> bytes;
  const int64_t unit = unit_bytes(desc.dtype);
  for_each_element(desc, [&](int64_t, int64_t offset) {
    for (int64_t b = 0; b < unit; ++b) bytes.insert(offset * unit + b);
  });
  return {bytes.begin(), bytes.end()};
}

}  // namespace

// By storage, version and byte: the version whose write made the byte.
class Meaning {
 public:
  explicit Meaning(const Graph& graph) : graph_(graph), made_(graph.storages().size()) {
    for (const ValueInfo& info : graph.values()) bytes_.push_back(bytes_of(info.desc));
    for (size_t s = 0; s < made_.size(); ++s) {
      made_[s].assign(1, std::vector<int32_t>(static_cast<size_t>(graph.storages()[s].bytes), 0));
    }
    for (const Node& node : graph.nodes()) {
      if (node.op->kind != OpKind::inplace) continue;
      const ValueInfo& out = graph.info(node.output);
      auto& versions = made_[static_cast<size_t>(out.storage)];
      versions.push_back(versions.back());
      for (const int64_t b : touched(node.output)) {
        versions.back()[static_cast<size_t>(out.offset_bytes + b)] = out.version;
      }
    }
  }

  // Bytes that a value touches, from its first one.
  const std::vector<int64_t>& touched(Value v) const { return bytes_[static_cast<size_t>(v.id)]; }
  Cell expected(Value v, int64_t byte) const {
    const ValueInfo& info = graph_.info(v);
    const int64_t at = info.offset_bytes + byte;
    const auto& versions = made_[static_cast<size_t>(info.storage)];
    return {info.storage, versions[static_cast<size_t>(info.version)][static_cast<size_t>(at)], at};
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<int64_t>> bytes_;              // by value
  std::vector<std::vector<std::vector<int32_t>>> made_;  // by storage, version, byte
};

namespace {

// The memories of a plan: (region, device, index); arenas have index 0.
using MemoryKey = std::tuple<Region, int32_t, int32_t>;
MemoryKey key_of(const MemRef& ref) {
  return {ref.region, ref.device, ref.region == Region::arena ? 0 : ref.index};
}

struct Bytes {  // that a step reads or writes, in one memory
  MemoryKey memory;
  std::vector<int64_t> at;
  bool write = false;
};

std::vector<int64_t> shifted(const std::vector<int64_t>& bytes, int64_t by) {
  std::vector<int64_t> out = bytes;
  for (int64_t& b : out) b += by;
  return out;
}

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> out(static_cast<size_t>(std::max<int64_t>(end - begin, 0)));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

bool meet(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {  // both sorted
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return true;
    if (a[i] < b[j])
      ++i;
    else
      ++j;
  }
  return false;
}

class Judge {
 public:
  Judge(const ExecutionPlan& plan, const Meaning& meaning,
        const std::map<std::pair<int32_t, std::string>, std::vector<uint64_t>>& calls)
      : plan_(plan), meaning_(meaning), calls_(calls) {}

  std::string run(int orders, uint64_t seed) {
    take_memories();
    if (std::string why = bad_segments(); !why.empty()) return why;
    if (std::string why = bad_steps(); !why.empty()) return why;
    if (std::string why = races(); !why.empty()) return why;
    std::vector<size_t> order(plan_.segments.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (std::string why = wrong_output(order); !why.empty()) return why;
    std::mt19937_64 random(seed);
    for (int i = 0; i < orders; ++i) {
      if (std::string why = wrong_output(legal_order(random)); !why.empty()) return why + " in another order";
    }
    return {};
  }

 private:
  const Node& node(const PlanStep& step) const { return plan_.graph.nodes()[static_cast<size_t>(step.node)]; }
  const Device& device(int32_t d) const { return *plan_.devices[static_cast<size_t>(d)]; }
  const PlanCopy& copy(const PlanStep& step) const { return plan_.copies[static_cast<size_t>(step.copy)]; }

  void take_memories() {
    for (size_t d = 0; d < plan_.arenas.size(); ++d) {
      memories_[{Region::arena, static_cast<int32_t>(d), 0}].assign(
          static_cast<size_t>(std::max<int64_t>(plan_.arenas[d].bytes, 0)), {});
    }
    std::vector<int32_t> inputs, weights;  // storages
    for (const Value v : plan_.graph.inputs()) inputs.push_back(plan_.graph.info(v).storage);
    for (size_t s = 0; s < plan_.graph.storages().size(); ++s) {
      const StorageKind kind = plan_.graph.storages()[s].kind;
      if (kind == StorageKind::weight || kind == StorageKind::constant) weights.push_back(static_cast<int32_t>(s));
    }
    weights_ = weights;
    for (const PlanStaged& staged : plan_.staged) {
      const int32_t s = (staged.region == Region::input ? inputs : weights)[static_cast<size_t>(staged.index)];
      auto& memory = memories_[{staged.region, staged.device, staged.index}];
      memory.clear();
      for (int64_t b = 0; b < plan_.graph.storages()[static_cast<size_t>(s)].bytes; ++b) memory.push_back({s, 0, b});
    }
  }

  // Who runs before whom, and that every queue gets through.
  std::string bad_segments() {
    const size_t n = plan_.segments.size();
    before_.assign(n, std::vector<bool>(n, false));
    segment_of_.assign(plan_.steps.size(), n);
    for (size_t i = 0; i < n; ++i) {
      const PlanSegment& segment = plan_.segments[i];
      for (int32_t s = segment.first; s < segment.first + segment.count; ++s) {
        if (s < 0 || static_cast<size_t>(s) >= plan_.steps.size()) return "a segment has steps of no plan";
        if (segment_of_[static_cast<size_t>(s)] != n) return "two segments have one step";
        if (plan_.steps[static_cast<size_t>(s)].device != segment.device)
          return "a segment has a step of another queue";
        segment_of_[static_cast<size_t>(s)] = i;
      }
      for (size_t j = 0; j < i; ++j) {
        if (plan_.segments[j].device == segment.device) before_[j][i] = true;
      }
      for (const int32_t wait : segment.waits) {
        if (wait < 0 || static_cast<size_t>(wait) >= n) return "a wait for no segment";
        before_[static_cast<size_t>(wait)][i] = true;
      }
    }
    if (std::find(segment_of_.begin(), segment_of_.end(), n) != segment_of_.end()) return "a step in no segment";
    for (size_t k = 0; k < n; ++k) {
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; before_[i][k] && j < n; ++j) {
          if (before_[k][j]) before_[i][j] = true;
        }
      }
    }
    for (size_t i = 0; i < n; ++i) {
      if (before_[i][i]) return "segments wait for each other";
    }
    return {};
  }

  std::string bad_steps() {
    accesses_.clear();
    std::vector<bool> ran(plan_.graph.nodes().size(), false);
    for (const PlanStep& step : plan_.steps) {
      accesses_.emplace_back();
      if (step.copy < 0) ran[static_cast<size_t>(step.node)] = true;
      if (std::string why = step.copy < 0 ? bad_kernel(step) : bad_copy(step); !why.empty()) return why;
      for (const Bytes& bytes : accesses_.back()) {
        if (std::string why = bad_access(bytes, step); !why.empty()) return why;
      }
    }
    for (const PlanPort& port : plan_.outputs) {
      if (port.memory.region == Region::none || !memories_.contains(key_of(port.memory))) return "an output is nowhere";
    }
    return {};
  }

  std::string bad_kernel(const PlanStep& step) {
    const Node& n = node(step);
    const std::string& where = device(step.device).traits().name;
    const auto allowed = calls_.find({step.node, where});
    if (allowed == calls_.end() ||
        std::find(allowed->second.begin(), allowed->second.end(), step.kernel.call()) == allowed->second.end()) {
      return "a node runs with a kernel that was not made for it there";
    }
    const bool known = std::any_of(plan_.devices.begin(), plan_.devices.end(),
                                   [&](const Device* d) { return d->traits().name == n.pin; });
    if (known && n.pin != where) return "a pinned node runs elsewhere";
    const auto out = shifted(meaning_.touched(n.output), step.output.offset);
    const auto scratch = range(step.scratch_offset, step.scratch_offset + step.kernel.scratch_bytes());
    const MemoryKey own{Region::arena, step.device, 0};
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!n.inputs[i].valid()) continue;
      const MemRef& ref = step.inputs[i];
      if (step.kernel.packed().input == static_cast<int>(i)) {
        if (!packed_right(step, i)) return "a kernel does not get what it wants packed";
        continue;
      }
      const auto in = shifted(meaning_.touched(n.inputs[i]), ref.offset);
      const bool target = n.op->kind == OpKind::inplace && i == 0;
      const bool taken = n.op->alias.may_overwrite == static_cast<int>(i) && ref == step.output &&
                         plan_.graph.info(n.inputs[i]).desc == plan_.graph.info(n.output).desc;
      if (target && ref != step.output) return "an in-place node writes elsewhere than it reads";
      if (n.op->kind == OpKind::compute && !taken && key_of(ref) == key_of(step.output) && meet(in, out)) {
        return "a result lies on an operand";
      }
      if (key_of(ref) == own && meet(in, scratch)) return "scratch lies on an operand";
      accesses_.back().push_back({key_of(ref), in, false});
    }
    if (key_of(step.output) == own && meet(out, scratch)) return "scratch lies on the result";
    accesses_.back().push_back({own, scratch, true});
    accesses_.back().push_back({key_of(step.output), out, true});
    return {};
  }

  // Whether input i of the step, which its kernel wants packed, is that operand in that form.
  bool packed_right(const PlanStep& step, size_t i) const {
    const MemRef& ref = step.inputs[i];
    if (ref.region != Region::packed || ref.index < 0 || ref.index >= static_cast<int32_t>(plan_.packed.size())) {
      return false;
    }
    const PlanPacked& form = plan_.packed[static_cast<size_t>(ref.index)];
    const ValueInfo& info = plan_.graph.info(node(step).inputs[i]);
    return ref.offset == 0 && ref.device == form.device && step.device == form.device && form.weight >= 0 &&
           form.weight < static_cast<int32_t>(weights_.size()) &&
           weights_[static_cast<size_t>(form.weight)] == info.storage && form.offset == info.offset_bytes &&
           form.desc == info.desc && form.layout == step.kernel.packed().layout &&
           form.bytes == step.kernel.packed().bytes;
  }

  std::string bad_copy(const PlanStep& step) {
    const PlanCopy& c = copy(step);
    if (c.to.device != step.device) return "a copy writes another device";
    if (!c.staged && !device(c.to.device).copies_from(device(c.from.device))) return "devices that cannot copy";
    const auto from = range(c.from.offset, c.from.offset + c.end - c.begin);
    const auto to = range(c.to.offset, c.to.offset + c.end - c.begin);
    if (key_of(c.from) == key_of(c.to) && meet(from, to)) return "a copy over itself";
    accesses_.back().push_back({key_of(c.from), from, false});
    accesses_.back().push_back({key_of(c.to), to, true});
    return {};
  }

  std::string bad_access(const Bytes& bytes, const PlanStep& step) const {
    if (bytes.at.empty()) return {};
    const auto [region, owner, index] = bytes.memory;
    const auto memory = memories_.find(bytes.memory);
    if (memory == memories_.end()) return "an access to memory that is not there";
    if (bytes.write && region != Region::arena) return "an input or a weight is written";
    if (bytes.at.front() < 0 || bytes.at.back() >= static_cast<int64_t>(memory->second.size())) {
      return "an access outside its memory";
    }
    if (step.copy < 0 && !device(step.device).addresses(device(owner))) return "an access to another owner's memory";
    return {};
  }

  std::string races() const {
    struct User {
      size_t segment;
      bool write;
    };
    std::map<MemoryKey, std::vector<std::vector<User>>> users;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const Bytes& bytes : accesses_[s]) {
        if (bytes.at.empty() || std::get<0>(bytes.memory) != Region::arena) continue;
        auto& cells = users[bytes.memory];
        cells.resize(memories_.at(bytes.memory).size());
        for (const int64_t b : bytes.at) cells[static_cast<size_t>(b)].push_back({segment_of_[s], bytes.write});
      }
    }
    for (const auto& [memory, cells] : users) {
      for (const auto& cell : cells) {
        for (size_t i = 0; i < cell.size(); ++i) {
          for (size_t j = 0; j < i; ++j) {
            const size_t a = cell[i].segment, b = cell[j].segment;
            if (a != b && (cell[i].write || cell[j].write) && !before_[a][b] && !before_[b][a]) return "a race";
          }
        }
      }
    }
    return {};
  }

  std::vector<size_t> legal_order(std::mt19937_64& random) const {
    const size_t n = plan_.segments.size();
    std::vector<size_t> order;
    std::vector<bool> done(n, false);
    while (order.size() < n) {
      std::vector<size_t> ready;
      for (size_t i = 0; i < n; ++i) {
        bool may = !done[i];
        for (size_t j = 0; may && j < n; ++j) may = !before_[j][i] || done[j];
        if (may) ready.push_back(i);
      }
      order.push_back(ready[static_cast<size_t>(random() % ready.size())]);
      done[order.back()] = true;
    }
    return order;
  }

  std::string wrong_output(const std::vector<size_t>& order) const {
    auto memories = memories_;
    for (const size_t segment : order) {
      const PlanSegment& s = plan_.segments[segment];
      for (int32_t i = s.first; i < s.first + s.count; ++i) step(plan_.steps[static_cast<size_t>(i)], memories);
    }
    for (size_t o = 0; o < plan_.outputs.size(); ++o) {
      const Value v = plan_.graph.outputs()[o].value;
      if (!holds(memories.at(key_of(plan_.outputs[o].memory)), plan_.outputs[o].memory.offset, v)) {
        return "output " + std::to_string(o) + " has a wrong byte";
      }
    }
    return {};
  }

  bool holds(const std::vector<Cell>& memory, int64_t offset, Value v) const {
    return std::all_of(meaning_.touched(v).begin(), meaning_.touched(v).end(), [&](int64_t b) {
      const int64_t at = offset + b;
      return at >= 0 && at < static_cast<int64_t>(memory.size()) &&
             memory[static_cast<size_t>(at)] == meaning_.expected(v, b);
    });
  }

  // A result of a wrong operand is wrong in every byte.
  void step(const PlanStep& step, std::map<MemoryKey, std::vector<Cell>>& memories) const {
    if (step.copy >= 0) {
      const PlanCopy& c = copy(step);
      const auto from = memories.at(key_of(c.from)).begin() + c.from.offset;
      const std::vector<Cell> cells(from, from + (c.end - c.begin));
      std::copy(cells.begin(), cells.end(), memories.at(key_of(c.to)).begin() + c.to.offset);
      return;
    }
    const Node& n = node(step);
    bool right = true;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!n.inputs[i].valid() || meaning_.touched(n.inputs[i]).empty()) continue;
      if (step.kernel.packed().input == static_cast<int>(i)) continue;
      right = right && holds(memories.at(key_of(step.inputs[i])), step.inputs[i].offset, n.inputs[i]);
    }
    if (const int64_t bytes = step.kernel.scratch_bytes(); bytes > 0) {
      const auto begin = memories.at({Region::arena, step.device, 0}).begin() + step.scratch_offset;
      std::fill(begin, begin + bytes, Cell{});
    }
    auto& out = memories[key_of(step.output)];
    for (const int64_t b : meaning_.touched(n.output)) {
      out[static_cast<size_t>(step.output.offset + b)] = right ? meaning_.expected(n.output, b) : Cell{};
    }
  }

  const ExecutionPlan& plan_;
  const Meaning& meaning_;
  const std::map<std::pair<int32_t, std::string>, std::vector<uint64_t>>& calls_;
  std::vector<int32_t> weights_;                     // storages, in the order of ExecutionPlan::weights
  std::map<MemoryKey, std::vector<Cell>> memories_;  // as they are before the first step
  std::vector<std::vector<bool>> before_;            // by two segments
  std::vector<size_t> segment_of_;                   // by step
  std::vector<std::vector<Bytes>> accesses_;         // by step
};

}  // namespace

Oracle::Oracle(const ExecutionPlan& whole) : meaning_(std::make_shared<Meaning>(whole.graph)) {
  for (const PlanStep& step : whole.steps) {
    if (step.copy >= 0) continue;
    allow(step.node, whole.devices[static_cast<size_t>(step.device)]->traits().name, step.kernel.call());
  }
}

std::string Oracle::harm(const ExecutionPlan& plan, int orders, uint64_t seed) const {
  return Judge(plan, *meaning_, calls_).run(orders, seed);
}

}  // namespace chiaro::testing
