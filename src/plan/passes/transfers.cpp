// insert transfers: from a placed graph to steps, with the copies between devices.
//
// A storage made by a node lies in the memory of that node's device: its home. A node on a device that does not address
// the home reads an image: the bytes that this device reads of that version, copied once, shared by all its readers. An
// in-place node that `own` told to run on a copy gets an image of its own, which is then copied back. Inputs and
// weights are staged on every device that reads them.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "plan/passes/placement.h"
#include "plan/passes/schedule.h"

namespace chiaro {
namespace {

constexpr int64_t kAlign = 64;  // images keep their storage's alignment, so that kernels are promised the same of both

struct Range {
  int64_t begin = 0, end = 0;
};

Range range_of(const ValueInfo& info) {
  return {info.offset_bytes, info.offset_bytes + info.desc.span_bytes()};
}

class Transfers {
 public:
  Transfers(const Graph& graph, PassContext& context)
      : graph_(graph), context_(context), owners_(storage_owners(graph, context)) {}

  Result<Schedule> run() {
    number_sources();
    for (size_t s = 0; s < graph_.storages().size(); ++s) {
      schedule_.slots.push_back(
          {owners_[s], static_cast<int32_t>(s), 0, graph_.storages()[s].bytes, -1, -1, static_cast<int32_t>(s), 0});
    }
    CHIARO_TRY(find_reads());
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (graph_.nodes()[i].op->kind != OpKind::view) schedule_node(static_cast<int32_t>(i));
    }
    for (const GraphOutput& output : graph_.outputs()) schedule_.outputs.push_back(output_place(output.value));
    context_.changes = static_cast<int>(schedule_.copies.size());
    return std::move(schedule_);
  }

 private:
  using Key = std::tuple<int32_t, int32_t, int32_t>;  // storage, version, device
  struct Image {
    int32_t slot = -1;
    int64_t base = 0;  // which byte of the storage the slot begins with
    Range range;       // that were copied; behind `base` because the slot is aligned as the storage is
  };

  Key key(const ValueInfo& info, int32_t device) const { return {info.storage, info.version, device}; }

  void number_sources() {
    source_.assign(graph_.storages().size(), -1);
    int32_t inputs = 0, weights = 0;
    for (size_t s = 0; s < graph_.storages().size(); ++s) {
      const StorageKind kind = graph_.storages()[s].kind;
      if (kind == StorageKind::input) source_[s] = inputs++;
      if (kind == StorageKind::weight || kind == StorageKind::constant) source_[s] = weights++;
    }
  }

  bool is_temp(const ValueInfo& info) const { return graph_.storage(info.storage).kind == StorageKind::temp; }

  // Whether `device` must read an image of this value.
  bool needs_image(const ValueInfo& info, int32_t device) const {
    if (!is_temp(info)) return false;
    const int32_t owner = owners_[static_cast<size_t>(info.storage)];
    return owner != device &&
           !context_.devices[static_cast<size_t>(device)]->addresses(*context_.devices[static_cast<size_t>(owner)]);
  }

  // Operand `i` of an in-place node is the memory itself where i = 0.
  static bool is_target(const Node& node, size_t i) { return node.op->kind == OpKind::inplace && i == 0; }

  // What each device reads of each version: the range that its image will hold.
  Status find_reads() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->kind == OpKind::view) continue;
      const int32_t device = context_.find(node.device);
      if (device < 0) return Error{ErrorCode::internal, "a node has no device", node.device, "", node.label};
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].valid() || is_target(node, i)) continue;
        const ValueInfo& info = graph_.info(node.inputs[i]);
        if (!needs_image(info, device)) continue;
        const Range range = range_of(info);
        const auto [found, fresh] = reads_.try_emplace(key(info, device), range);
        found->second.begin = std::min(found->second.begin, range.begin);
        found->second.end = std::max(found->second.end, range.end);
      }
    }
    return {};
  }

  void schedule_node(int32_t index) {
    const Node& node = graph_.nodes()[static_cast<size_t>(index)];
    ScheduledStep step;
    step.node = index;
    step.device = context_.find(node.device);
    const ValueInfo& out = graph_.info(node.output);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value v = node.inputs[i];
      if (!v.valid())
        step.inputs.emplace_back();
      else
        step.inputs.push_back(is_target(node, i) ? target(node, step.device) : operand(v, step.device));
    }
    step.output = node.op->kind == OpKind::inplace ? step.inputs[0] : home(out);
    const Place written = step.output;
    schedule_.steps.push_back(std::move(step));
    if (node.op->kind == OpKind::inplace && written.index != out.storage) copy_back(node.output, written);
  }

  Place home(const ValueInfo& info) const {
    return {Region::arena, owners_[static_cast<size_t>(info.storage)], info.storage, info.offset_bytes};
  }

  Place operand(Value v, int32_t device) {
    const ValueInfo& info = graph_.info(v);
    if (!is_temp(info)) return source(info, device);
    if (!needs_image(info, device)) return home(info);
    const Range range = range_of(info);
    for (const Image& image : images_[key(info, device)]) {
      if (image.range.begin <= range.begin && range.end <= image.range.end) {
        return {Region::arena, device, image.slot, info.offset_bytes - image.base};
      }
    }
    const Image image = copy_in(v, reads_.at(key(info, device)), device);
    images_[key(info, device)].push_back(image);
    return {Region::arena, device, image.slot, info.offset_bytes - image.base};
  }

  Place source(const ValueInfo& info, int32_t device) {
    const bool input = graph_.storage(info.storage).kind == StorageKind::input;
    const Place place{input ? Region::input : Region::weight, device, source_[static_cast<size_t>(info.storage)],
                      info.offset_bytes};
    if (staged_.emplace(place.region, place.device, place.index).second) {
      schedule_.staged.push_back({place.region, place.device, place.index});
    }
    return place;
  }

  // The memory that an in-place node writes: the home, or a copy where `own` said so. Without its word the home is
  // taken even where the device does not address it, and the verifier refuses the plan.
  Place target(const Node& node, int32_t device) {
    const ValueInfo& info = graph_.info(node.inputs[0]);
    if (!node.on_copy || !needs_image(info, device)) return home(info);
    const Image image = copy_in(node.inputs[0], range_of(info), device);
    images_[key(graph_.info(node.output), device)].push_back(image);
    return {Region::arena, device, image.slot, info.offset_bytes - image.base};
  }

  Image copy_in(Value v, Range range, int32_t device) {
    const ValueInfo& info = graph_.info(v);
    const int32_t owner = owners_[static_cast<size_t>(info.storage)];
    const Image image{static_cast<int32_t>(schedule_.slots.size()), range.begin / kAlign * kAlign, range};
    const int64_t bytes = range.end - image.base;
    schedule_.slots.push_back({device, info.storage, image.base, bytes, -1, -1, image.slot, 0});
    const Place from{Region::arena, owner, info.storage, range.begin};
    const Place to{Region::arena, device, image.slot, range.begin - image.base};
    add_copy({v, range.begin, range.end, from, to, false}, device);
    return image;
  }

  void copy_back(Value v, const Place& written) {
    const ValueInfo& info = graph_.info(v);
    const Range range = range_of(info);
    add_copy({v, range.begin, range.end, written, home(info), true}, owners_[static_cast<size_t>(info.storage)]);
  }

  void add_copy(const ScheduledCopy& copy, int32_t device) {
    if (copy.begin == copy.end) return;  // a tensor without elements
    ScheduledStep step;
    step.copy = static_cast<int32_t>(schedule_.copies.size());
    step.device = device;
    step.inputs = {copy.from};
    step.output = copy.to;
    schedule_.copies.push_back(copy);
    schedule_.steps.push_back(std::move(step));
  }

  // An output is read by the host, which reaches every device: the home, or any staged source.
  Place output_place(Value v) {
    const ValueInfo& info = graph_.info(v);
    if (is_temp(info)) return home(info);
    const bool input = graph_.storage(info.storage).kind == StorageKind::input;
    const int32_t index = source_[static_cast<size_t>(info.storage)];
    for (const PlanStaged& staged : schedule_.staged) {
      if ((staged.region == Region::input) == input && staged.index == index) {
        return {staged.region, staged.device, index, info.offset_bytes};
      }
    }
    return source(info, 0);
  }

  const Graph& graph_;
  PassContext& context_;
  std::vector<int32_t> owners_;
  std::vector<int32_t> source_;  // index among the inputs, or among weights and constants
  std::map<Key, Range> reads_;
  std::map<Key, std::vector<Image>> images_;
  std::set<std::tuple<Region, int32_t, int32_t>> staged_;
  Schedule schedule_;
};

}  // namespace

Result<Schedule> insert_transfers(const Graph& graph, PassContext& context) {
  return Transfers(graph, context).run();
}

}  // namespace chiaro
