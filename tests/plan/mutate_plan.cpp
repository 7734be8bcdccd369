#include "mutate_plan.h"

#include <algorithm>
#include <utility>

#include "plan/passes/passes.h"

namespace chiaro::testing {

const std::vector<std::pair<const char*, Mutation (Mutator::*)()>>& Mutator::kinds() {
  static const std::vector<std::pair<const char*, Mutation (Mutator::*)()>> kAll{
      {"drop a kernel", &Mutator::drop_kernel},
      {"drop a copy", &Mutator::drop_copy},
      {"swap two steps", &Mutator::swap_steps},
      {"move a step", &Mutator::move_step},
      {"move a node to another device", &Mutator::move_node},
      {"shift an operand", &Mutator::shift_operand},
      {"shift a result", &Mutator::shift_result},
      {"shift a copy", &Mutator::shift_copy},
      {"shift an output", &Mutator::shift_output},
      {"redirect an operand", &Mutator::redirect_operand},
      {"redirect a result", &Mutator::redirect_result},
      {"redirect a copy", &Mutator::redirect_copy},
      {"redirect an output", &Mutator::redirect_output},
      {"look on another device", &Mutator::other_device},
      {"read another image", &Mutator::older_image},
      {"cut a copy short", &Mutator::cut_copy},
      {"shrink an arena", &Mutator::shrink_arena},
      {"move scratch", &Mutator::move_scratch},
      {"read past a saved copy", &Mutator::read_newer},
      {"drop a wait", &Mutator::drop_wait},
      {"drop a segment's waits", &Mutator::drop_waits},
      {"wait for an earlier one", &Mutator::retarget_wait},
      {"drop what is staged", &Mutator::drop_staged},
      {"swap two kernels", &Mutator::swap_kernels},
      {"copy directly", &Mutator::copy_directly},
      {"relabel a copy", &Mutator::relabel_copy},
  };
  return kAll;
}

Mutation Mutator::any() {
  const auto& [name, make] = kinds()[below(kinds().size())];
  Mutation mutation = (this->*make)();
  if (mutation.undo) mutation.name = name;
  return mutation;
}

PlanStep* Mutator::any_kernel() {
  std::vector<PlanStep*> all;
  for (PlanStep& step : plan_.steps) {
    if (step.copy < 0) all.push_back(&step);
  }
  return all.empty() ? nullptr : all[below(all.size())];
}

PlanCopy* Mutator::any_copy() {
  return plan_.copies.empty() ? nullptr : &plan_.copies[below(plan_.copies.size())];
}

MemRef* Mutator::any_operand() {
  PlanStep& step = *any_kernel();
  MemRef& ref = step.inputs[below(step.inputs.size())];
  return ref.region == Region::none ? &step.inputs[0] : &ref;
}

MemRef Mutator::shifted(MemRef ref) {
  static constexpr int64_t kBy[] = {4, -4, 8, 16, 32, 48, 64, -64, 128, -128, 256, 1024};
  ref.offset += kBy[below(std::size(kBy))];
  return ref;
}

// The memory of another operand, result or copy.
MemRef Mutator::elsewhere() {
  switch (below(6)) {
    case 0: return plan_.outputs[below(plan_.outputs.size())].memory;
    case 1: return any_kernel()->output;
    case 2: {
      const PlanCopy* copy = any_copy();
      return copy == nullptr ? *any_operand() : copy->to;
    }
    default: return *any_operand();
  }
}

Mutation Mutator::change(MemRef* ref, const MemRef& to) {
  const MemRef before = *ref;
  if (before == to) return {};
  *ref = to;
  return {"", [ref, before] { *ref = before; }};
}

template <class T>
Mutation Mutator::put(T& place, T value) {
  if (place == value) return {};
  T* const at = &place;
  T before = std::exchange(place, std::move(value));
  return {"", [at, before] { *at = before; }};
}

std::vector<Mutator::Run> Mutator::runs() const {
  std::vector<Run> runs;
  for (const PlanSegment& segment : plan_.segments) {
    Run run{segment.device, {}, {segment.waits.begin(), segment.waits.end()}};
    for (int32_t i = 0; i < segment.count; ++i) run.steps.push_back(static_cast<size_t>(segment.first + i));
    runs.push_back(std::move(run));
  }
  return runs;
}

Mutation Mutator::arrange(std::vector<Run> runs) {
  auto old_segments = std::make_shared<std::vector<PlanSegment>>(std::exchange(plan_.segments, {}));
  auto old_steps = std::make_shared<std::vector<PlanStep>>(std::exchange(plan_.steps, {}));
  auto order = std::make_shared<std::vector<size_t>>();
  std::vector<std::vector<int32_t>> stands_for(runs.size());  // segments, by run
  for (size_t r = 0; r < runs.size(); ++r) {
    std::vector<int32_t> waits;
    for (const size_t w : runs[r].waits) waits.insert(waits.end(), stands_for[w].begin(), stands_for[w].end());
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    if (runs[r].steps.empty()) {
      // The next one of its queue waits in its place.
      for (size_t next = r + 1; next < runs.size(); ++next) {
        if (runs[next].device != runs[r].device) continue;
        runs[next].waits.insert(runs[next].waits.end(), runs[r].waits.begin(), runs[r].waits.end());
        break;
      }
      for (size_t s = plan_.segments.size(); s-- > 0;) {
        if (plan_.segments[s].device != runs[r].device) continue;
        waits.push_back(static_cast<int32_t>(s));
        break;
      }
      stands_for[r] = waits;
      continue;
    }
    stands_for[r] = {static_cast<int32_t>(plan_.segments.size())};
    plan_.segments.push_back(
        {runs[r].device, static_cast<int32_t>(plan_.steps.size()), static_cast<int32_t>(runs[r].steps.size()), waits});
    for (const size_t s : runs[r].steps) {
      order->push_back(s);
      plan_.steps.push_back(std::move((*old_steps)[s]));
    }
  }
  return {"", [this, old_segments, old_steps, order] {
            for (size_t i = 0; i < order->size(); ++i) (*old_steps)[(*order)[i]] = std::move(plan_.steps[i]);
            plan_.steps = std::move(*old_steps);
            plan_.segments = std::move(*old_segments);
          }};
}

Mutation Mutator::drop_kernel() {
  std::vector<Run> all = runs();
  Run& run = all[below(all.size())];
  const auto at = run.steps.begin() + static_cast<std::ptrdiff_t>(below(run.steps.size()));
  if (plan_.steps[*at].copy >= 0) return {};
  run.steps.erase(at);
  return arrange(std::move(all));
}

Mutation Mutator::drop_copy() {
  std::vector<Run> all = runs();
  std::vector<std::pair<size_t, size_t>> copies;  // run, place in it
  for (size_t r = 0; r < all.size(); ++r) {
    for (size_t i = 0; i < all[r].steps.size(); ++i) {
      if (plan_.steps[all[r].steps[i]].copy >= 0) copies.emplace_back(r, i);
    }
  }
  if (copies.empty()) return {};
  const auto [r, i] = copies[below(copies.size())];
  all[r].steps.erase(all[r].steps.begin() + static_cast<std::ptrdiff_t>(i));
  return arrange(std::move(all));
}

Mutation Mutator::swap_steps() {
  std::vector<Run> all = runs();
  Run& a = all[below(all.size())];
  Run& b = all[below(all.size())];
  if (a.device != b.device) return {};  // the steps would stand in segments of another device
  std::swap(a.steps[below(a.steps.size())], b.steps[below(b.steps.size())]);
  return arrange(std::move(all));
}

Mutation Mutator::move_step() {
  std::vector<Run> all = runs();
  const size_t from = below(all.size()), to = below(all.size());
  if (all[from].device != all[to].device) return {};
  const size_t at = below(all[from].steps.size());
  const size_t step = all[from].steps[at];
  all[from].steps.erase(all[from].steps.begin() + static_cast<std::ptrdiff_t>(at));
  auto& steps = all[to].steps;
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(below(steps.size() + 1)), step);
  return arrange(std::move(all));
}

// In a segment of its own between the steps before it and those behind it, with a kernel of the other device. Its
// result and its operands may come along (to the same offsets of the other arena).
Mutation Mutator::move_node() {
  std::vector<Run> all = runs();
  const size_t r = below(all.size());
  const size_t at = below(all[r].steps.size()), id = all[r].steps[at];
  const auto to = static_cast<int32_t>(below(plan_.devices.size()));
  PlanStep& step = plan_.steps[id];
  if (step.copy >= 0 || to == step.device) return {};
  const Device& device = *plan_.devices[static_cast<size_t>(to)];
  auto kernel = choose_kernel(device, plan_.graph, node_of(step));
  if (!kernel.ok()) return {};
  if (oracle_ != nullptr) oracle_->allow(step.node, device.traits().name, kernel->call());
  auto old_kernel = std::make_shared<KernelPlan>(std::exchange(step.kernel, std::move(kernel).value()));
  const std::vector<MemRef> old_inputs = step.inputs;
  const MemRef old_output = step.output;
  const int32_t old_device = std::exchange(step.device, to);
  if (below(3) > 0) step.output.device = to;
  const bool along = below(2) == 0;
  for (MemRef& ref : step.inputs) {
    if (ref.region != Region::none && (along || ref.region != Region::arena)) ref.device = to;
  }
  std::vector<Run> cut;
  std::vector<size_t> place(all.size());  // of the last part of each run
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t& wait : all[i].waits) wait = place[wait];
    if (i == r) {
      const auto middle = all[i].steps.begin() + static_cast<std::ptrdiff_t>(at);
      cut.push_back({all[i].device, {all[i].steps.begin(), middle}, all[i].waits});
      cut.push_back({to, {id}, {cut.size() - 1}});
      cut.push_back({all[i].device, {middle + 1, all[i].steps.end()}, {cut.size() - 1}});
    } else {
      cut.push_back(all[i]);
    }
    place[i] = cut.size() - 1;
  }
  const Mutation arranged = arrange(std::move(cut));
  return {"", [=, this] {
            arranged.undo();
            PlanStep& mended = plan_.steps[id];
            mended.kernel = std::move(*old_kernel);
            mended.inputs = old_inputs;
            mended.output = old_output;
            mended.device = old_device;
          }};
}

Mutation Mutator::shift_operand() {
  MemRef* ref = any_operand();
  return change(ref, shifted(*ref));
}

Mutation Mutator::shift_result() {
  MemRef* ref = &any_kernel()->output;
  return change(ref, shifted(*ref));
}

Mutation Mutator::shift_copy() {
  PlanCopy* copy = any_copy();
  if (copy == nullptr) return {};
  MemRef* ref = below(2) == 0 ? &copy->from : &copy->to;
  return change(ref, shifted(*ref));
}

Mutation Mutator::shift_output() {
  MemRef* ref = &plan_.outputs[below(plan_.outputs.size())].memory;
  return change(ref, shifted(*ref));
}

Mutation Mutator::redirect_operand() {
  return change(any_operand(), elsewhere());
}

Mutation Mutator::redirect_result() {
  return change(&any_kernel()->output, elsewhere());
}

Mutation Mutator::redirect_copy() {
  PlanCopy* copy = any_copy();
  if (copy == nullptr) return {};
  MemRef* ref = below(2) == 0 ? &copy->from : &copy->to;
  MemRef to = elsewhere();
  if (ref == &copy->to) to.device = ref->device;  // a copy is a step of the device that it writes
  if (to.region == Region::none) return {};
  return change(ref, to);
}

Mutation Mutator::redirect_output() {
  return change(&plan_.outputs[below(plan_.outputs.size())].memory, elsewhere());
}

Mutation Mutator::other_device() {
  PlanCopy* copy = any_copy();
  MemRef* ref = copy != nullptr && below(3) == 0 ? &copy->from : any_operand();
  MemRef to = *ref;
  to.device = static_cast<int32_t>(below(plan_.devices.size()));
  return change(ref, to);
}

// Another image of the storage of an operand, or its home: where the bytes may be of another version.
Mutation Mutator::older_image() {
  PlanStep& step = *any_kernel();
  const Node& node = node_of(step);
  const size_t i = below(node.inputs.size());
  if (!node.inputs[i].valid() || step.inputs[i].region != Region::arena || plan_.copies.empty()) return {};
  const ValueInfo& info = plan_.graph.info(node.inputs[i]);
  for (size_t tries = 0; tries < 20; ++tries) {
    const PlanCopy& copy = *any_copy();
    if (plan_.graph.info(copy.value).storage != info.storage) continue;
    MemRef to = below(3) == 0 ? copy.from : copy.to;
    to.offset += info.offset_bytes - copy.begin;
    if (to == step.inputs[i]) continue;
    return change(&step.inputs[i], to);
  }
  return {};
}

Mutation Mutator::cut_copy() {
  PlanCopy* copy = any_copy();
  if (copy == nullptr || copy->end - copy->begin <= 4) return {};
  const int64_t by = 4 * static_cast<int64_t>(1 + below(static_cast<size_t>((copy->end - copy->begin) / 4)));
  const PlanCopy before = *copy;
  if (below(2) == 0) {
    copy->end -= by;
  } else {  // from the front: the places name the first byte that is copied
    copy->begin += by;
    copy->from.offset += by;
    copy->to.offset += by;
  }
  return {"", [copy, before] { *copy = before; }};
}

Mutation Mutator::shrink_arena() {
  int64_t& bytes = plan_.arenas[below(plan_.arenas.size())].bytes;
  if (bytes == 0) return {};
  return put(bytes, std::max<int64_t>(0, bytes - (below(3) == 0 ? 4 : 64 * static_cast<int64_t>(1 + below(4)))));
}

Mutation Mutator::move_scratch() {
  std::vector<PlanStep*> with;
  for (PlanStep& step : plan_.steps) {
    if (step.kernel.scratch_bytes() > 0) with.push_back(&step);
  }
  const MemRef target = *any_operand();
  if (with.empty() || target.region != Region::arena) return {};
  return put(with[below(with.size())]->scratch_offset, target.offset / 64 * 64);  // kernels may rely on the alignment
}

// A node saved an old version: its reader reads the memory that went on instead.
Mutation Mutator::read_newer() {
  for (size_t tries = 0; tries < 20; ++tries) {
    PlanStep& copy = *any_kernel();
    if (node_of(copy).op->name != "contiguous" || copy.inputs[0] == copy.output) continue;
    for (PlanStep& reader : plan_.steps) {
      for (MemRef& ref : reader.inputs) {
        if (&reader != &copy && ref == copy.output && below(2) == 0) return change(&ref, copy.inputs[0]);
      }
    }
  }
  return {};
}

Mutation Mutator::drop_wait() {
  std::vector<PlanSegment*> waiting;
  for (PlanSegment& segment : plan_.segments) {
    if (!segment.waits.empty()) waiting.push_back(&segment);
  }
  if (waiting.empty()) return {};
  PlanSegment& segment = *waiting[below(waiting.size())];
  std::vector<int32_t> fewer = segment.waits;
  fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(below(fewer.size())));
  return put(segment.waits, std::move(fewer));
}

Mutation Mutator::drop_waits() {
  if (plan_.segments.empty()) return {};
  return put(plan_.segments[below(plan_.segments.size())].waits, {});
}

Mutation Mutator::retarget_wait() {
  PlanSegment& segment = plan_.segments[below(plan_.segments.size())];
  if (segment.waits.empty()) return {};
  int32_t& wait = segment.waits[below(segment.waits.size())];
  return put(wait, static_cast<int32_t>(below(static_cast<size_t>(wait) + 1)));
}

Mutation Mutator::drop_staged() {
  if (plan_.staged.empty()) return {};
  std::vector<PlanStaged> fewer = plan_.staged;
  fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(below(fewer.size())));
  return put(plan_.staged, std::move(fewer));
}

Mutation Mutator::swap_kernels() {
  PlanStep *a = any_kernel(), *b = any_kernel();
  if (a == b || (a->kernel.kernel() != b->kernel.kernel() && below(4) > 0)) return {};
  std::swap(a->kernel, b->kernel);
  return {"", [a, b] { std::swap(a->kernel, b->kernel); }};
}

Mutation Mutator::copy_directly() {
  PlanCopy* copy = any_copy();
  return copy == nullptr ? Mutation{} : put(copy->staged, !copy->staged);
}

// The value of a copy says what it is meant to carry: what runs are its places.
Mutation Mutator::relabel_copy() {
  PlanCopy* copy = any_copy();
  if (copy == nullptr) return {};
  return put(copy->value, Value{static_cast<int32_t>(below(plan_.graph.values().size()))});
}

}  // namespace chiaro::testing
