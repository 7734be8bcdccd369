// Points 3 and 4: where a kernel may write, and what the memory holds afterwards.
#include "plan/verify_replay.h"

namespace chiaro {
namespace {

constexpr int64_t kStorageAlignment = 64;  // bytes; of the arena's storages and of scratch

}  // namespace

Status Replay::check_result(const PlanStep& step, const Node& node) {
  const MemRef& at = step.output;
  if (at.region != Region::arena || !has_device(at.device)) {
    return plan_error(Point::bytes, value_text(node.output) + " would be written to " + ref_text(at),
                      "inputs and weights are never written", node.label);
  }
  const Extent& bytes = extent(node.output);
  if (node.op->kind == OpKind::inplace) {
    CHIARO_TRY(check_bounds(node.output, at, bytes.span(), node.label));
    return check_target(step, node);
  }
  if (at.device != step.device) {
    return plan_error(Point::targets, value_text(node.output) + " would be written to another device",
                      ref_text(at) + " from " + device_name(step.device), node.label);
  }
  CHIARO_TRY(check_bounds(node.output, at, bytes.span(), node.label));
  if (bytes.rank != 0) {
    return plan_error(Point::bytes, value_text(node.output) + " is a result that is not dense", "", node.label);
  }
  if (at.offset % kStorageAlignment != 0) {
    return plan_error(Point::bytes, value_text(node.output) + " starts at " + ref_text(at),
                      "storages start at multiples of " + std::to_string(kStorageAlignment), node.label);
  }
  return check_alias(step, node);
}

// The target was found at its version where the step reads it: its home or an image, which check_read told apart from
// anything else. An image is this device's own, and the result has to come home from it (check_all_home).
Status Replay::check_target(const PlanStep& step, const Node& node) const {
  const ValueInfo& out = graph_.info(node.output);
  const int64_t base = step.output.offset - out.offset_bytes;
  const bool home = is_home(out.storage, step.output.device, base);
  if (step.output == step.inputs[0] && (home || step.output.device == step.device)) {
    if (out.version == state(out.storage).version + 1) return {};
    return plan_error(Point::targets, value_text(node.output) + " is written too early",
                      "the newest version is " + std::to_string(state(out.storage).version), node.label);
  }
  return plan_error(Point::targets, value_text(node.output) + " is written to " + ref_text(step.output),
                    "its target is read at " + ref_text(step.inputs[0]) + " and lives at " +
                        ref_text(state(out.storage).home) + ", byte " + std::to_string(out.offset_bytes),
                    node.label);
}

// A result may take the memory of the operand that its op names: the same bytes of the same shape, and no others.
Status Replay::check_alias(const PlanStep& step, const Node& node) const {
  const ValueInfo& out = graph_.info(node.output);
  const int64_t begin = step.output.offset, end = begin + extent(node.output).run;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!overlaps_operand(step, node, i, step.output.device, begin, end)) continue;
    const bool named = node.op->alias.may_overwrite == static_cast<int>(i);
    if (named && step.inputs[i] == step.output && graph_.info(node.inputs[i]).desc == out.desc) continue;
    return plan_error(
        Point::bytes, value_text(node.output) + " overwrites operand " + value_text(node.inputs[i]),
        std::string(node.op->name) + " may not: " + ref_text(step.output) + " on " + ref_text(step.inputs[i]),
        node.label);
  }
  return {};
}

bool Replay::overlaps_operand(const PlanStep& step, const Node& node, size_t i, int32_t device, int64_t begin,
                              int64_t end) const {
  const MemRef& ref = step.inputs[i];
  if (!node.inputs[i].valid() || ref.region != Region::arena || ref.device != device) return false;
  return touches(extent(node.inputs[i]), begin - ref.offset, end - ref.offset);
}

Status Replay::check_scratch(const PlanStep& step, const Node& node) const {
  const int64_t bytes = step.kernel.scratch_bytes(), begin = step.scratch_offset, end = begin + bytes;
  if (bytes <= 0) return {};
  const int64_t size = arenas_[static_cast<size_t>(step.device)].bytes();
  if (begin < 0 || end > size || begin % kStorageAlignment != 0) {
    return plan_error(Point::bytes, "scratch lies outside the arena, or is not aligned",
                      "bytes " + range_text(begin, end) + " of " + std::to_string(size), node.label);
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!overlaps_operand(step, node, i, step.device, begin, end)) continue;
    return plan_error(Point::bytes, "scratch lies on operand " + value_text(node.inputs[i]), range_text(begin, end),
                      node.label);
  }
  const Extent& out = extent(node.output);
  if (step.output.device != step.device || !touches(out, begin - step.output.offset, end - step.output.offset)) {
    return {};
  }
  return plan_error(Point::bytes, "scratch lies on the result " + value_text(node.output), range_text(begin, end),
                    node.label);
}

Status Replay::write(const PlanStep& step, const Node& node) {
  const ValueInfo& out = graph_.info(node.output);
  const Extent& result = extent(node.output);
  if (const int64_t bytes = step.kernel.scratch_bytes(); bytes > 0) {
    arena(step.device).set(step.scratch_offset, step.scratch_offset + bytes, {kHoldsScratch, 0, 0});
    const MemRef scratch{Region::arena, step.device, 0, step.scratch_offset};
    CHIARO_TRY(order_access(scratch, solid_extent(bytes), true, node.label));
  }
  CHIARO_TRY(order_access(step.output, result, true, node.label));
  if (node.op->kind == OpKind::inplace) return write_in_place(step, node);
  state(out.storage).home = step.output;
  arena(step.output.device)
      .set(step.output.offset, step.output.offset + result.run, {out.storage, 0, step.output.offset});
  return {};
}

Status Replay::write_in_place(const PlanStep& step, const Node& node) {
  const ValueInfo& out = graph_.info(node.output);
  const Extent& written = extent(node.output);
  mark_written(step.output, node.output);
  StorageState& storage = state(out.storage);
  storage.version = out.version;
  if (!is_home(out.storage, step.output.device, step.output.offset - out.offset_bytes) && written.run > 0) {
    storage.away.push_back({node.output, out.offset_bytes, out.offset_bytes + written.span()});
  }
  return {};
}

// The target was read, so its bytes are those of the version before. Bytes between its rows keep what they hold; where
// that is of this storage as the version before has it, the new version has it, too, and a whole part is marked.
void Replay::mark_written(const MemRef& output, Value written) {
  const ValueInfo& out = graph_.info(written);
  const Extent& rows = extent(written);
  const int64_t begin = output.offset, base = begin - out.offset_bytes;
  std::vector<std::pair<int64_t, int64_t>> parts;  // joined where they meet
  const auto mark = [&](int64_t a, int64_t b) {
    if (!parts.empty() && parts.back().second == a)
      parts.back().second = b;
    else
      parts.emplace_back(a, b);
  };
  arena(output.device).all(begin, begin + rows.span(), [&](int64_t a, int64_t b, const Holding& h) {
    if (h.storage != out.storage || h.base != base) return true;
    if (same_bytes(out.storage, h.version, out.version - 1, a - base, b - base, solid_extent(b - a), a - base)) {
      mark(a, b);
      return true;
    }
    for_each_run(rows, [&](int64_t run_begin, int64_t run_end) {  // an image that is stale between the rows
      const int64_t from = std::max(a, begin + run_begin), to = std::min(b, begin + run_end);
      if (from < to) mark(from, to);
    });
    return true;
  });
  for (const auto& [a, b] : parts) arena(output.device).set(a, b, {out.storage, out.version, base});
}

}  // namespace chiaro
