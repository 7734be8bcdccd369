// Point 2: an operand is read where its value lies. Point 5 for each single access.
#include <algorithm>

#include "plan/verify_replay.h"

namespace chiaro {

Status Replay::check_read(Value v, const MemRef& ref, int32_t reader, const std::string& label) {
  if (ref.region == Region::none) return plan_error(Point::operands, "an operand has no memory", value_text(v), label);
  if (!has_device(ref.device)) {
    return plan_error(Point::operands, value_text(v) + " is looked for in " + ref_text(ref), "there is no such device",
                      label);
  }
  if (!addresses(reader, ref.device)) {
    return plan_error(Point::operands, value_text(v) + " is looked for in " + ref_text(ref),
                      device_name(reader) + " does not address the memory of " + device_name(ref.device), label);
  }
  if (ref.region != Region::arena) return check_source(v, ref, label);
  CHIARO_TRY(check_bounds(v, ref, extent(v).span(), label));
  return check_holds(v, ref, label);
}

Status Replay::check_source(Value v, const MemRef& ref, const std::string& label) const {
  const ValueInfo& info = graph_.info(v);
  const MemRef& home = state(info.storage).home;
  const auto misplaced = [&](std::string why) {
    return plan_error(Point::operands, value_text(v) + " is looked for in " + ref_text(ref), std::move(why), label);
  };
  if (ref.region != home.region || ref.index != home.index || ref.offset != info.offset_bytes || info.version != 0) {
    return misplaced("it lives at " + ref_text(home));
  }
  if (info.offset_bytes + extent(v).span() > graph_.storage(info.storage).bytes) {
    return plan_error(Point::operands, value_text(v) + " reaches beyond its storage", ref_text(ref), label);
  }
  if (staged(ref)) return {};
  return misplaced("nothing brings it to " + device_name(ref.device));
}

// A kernel gets that operand packed that it asked for, in that layout, and no other.
Status Replay::check_packed(Value v, const PlanStep& step, const MemRef& ref, const std::string& label) const {
  const PackedInput& wants = step.kernel.packed();
  const auto misplaced = [&](std::string why) {
    return plan_error(Point::operands, value_text(v) + " is looked for in " + ref_text(ref), std::move(why), label);
  };
  if (ref.region != Region::packed) {
    return misplaced(std::string(step.kernel.kernel()) + " wants it packed as " + wants.layout);
  }
  if (ref.index < 0 || static_cast<size_t>(ref.index) >= plan_.packed.size()) {
    return misplaced("there is no such packed form");
  }
  const ValueInfo& info = graph_.info(v);
  const MemRef& home = state(info.storage).home;
  const PlanPacked& form = plan_.packed[static_cast<size_t>(ref.index)];
  const PlanPacked right{step.device, home.index, info.offset_bytes, info.desc, wants.bytes, wants.layout};
  if (home.region != Region::weight || info.version != 0) return misplaced("it is no weight");
  if (form != right || ref.device != form.device || ref.offset != 0) {
    return misplaced("that is " + form.layout + " of weight " + std::to_string(form.weight) + ", not " + wants.layout +
                     " of " + ref_text(home));
  }
  if (info.offset_bytes + extent(v).span() > graph_.storage(info.storage).bytes) {
    return plan_error(Point::operands, value_text(v) + " reaches beyond its storage", ref_text(ref), label);
  }
  return {};
}

Status Replay::check_holds(Value v, const MemRef& ref, const std::string& label) const {
  const ValueInfo& info = graph_.info(v);
  const Extent& view = extent(v);
  const int64_t base = ref.offset - info.offset_bytes;
  std::string found;
  arenas_[static_cast<size_t>(ref.device)].all(
      ref.offset, ref.offset + view.span(), [&](int64_t a, int64_t b, const Holding& h) {
        const bool holds =
            h.storage == info.storage && h.base == base &&
            same_bytes(info.storage, h.version, info.version, a - base, b - base, view, info.offset_bytes);
        if (holds || !touches(view, a - ref.offset, b - ref.offset)) return true;
        found = holding_text(ref.device, h, a, b);
        return false;
      });
  if (found.empty()) return {};
  return plan_error(Point::operands, value_text(v) + " is looked for at " + ref_text(ref), found, label);
}

Status Replay::check_bounds(Value v, const MemRef& ref, int64_t bytes, const std::string& label) const {
  const int64_t size = arenas_[static_cast<size_t>(ref.device)].bytes(), end = ref.offset + bytes;
  if (ref.offset >= 0 && end <= size) return {};
  return plan_error(Point::bytes, value_text(v) + " lies outside the arena of " + device_name(ref.device),
                    "bytes " + range_text(ref.offset, end) + " of " + std::to_string(size), label);
}

bool Replay::same_bytes(int32_t storage, int32_t have, int32_t want, int64_t a, int64_t b, const Extent& view,
                        int64_t at) const {
  if (have == want) return true;
  const StorageState& s = state(storage);
  // Only one memory ever held it, and steps mark what they write there: none of those up to the newest version wrote
  // here after `have`.
  if (!s.copied && have < want && want <= s.version) return true;
  for (int32_t w = std::min(have, want); w < std::max(have, want); ++w) {
    const ValueInfo& write = graph_.info(s.writes[static_cast<size_t>(w)]);
    if (common_byte(extent(s.writes[static_cast<size_t>(w)]), write.offset_bytes, view, at, a, b)) return false;
  }
  return true;
}

std::string Replay::holding_text(int32_t device, const Holding& h, int64_t a, int64_t b) const {
  const std::string where = "arena" + std::to_string(device) + range_text(a, b) + " holds ";
  if (h.storage == kHoldsNothing) return where + "nothing yet";
  if (h.storage == kHoldsScratch) return where + "scratch";
  return where + "storage " + std::to_string(h.storage) + " version " + std::to_string(h.version) + " bytes " +
         range_text(a - h.base, b - h.base);
}

Status Replay::order_access(const MemRef& ref, const Extent& bytes, bool write, const std::string& label) {
  if (accesses_.empty() || ref.region != Region::arena) return {};
  const auto now = static_cast<int32_t>(step_);
  const int32_t segment = order_.segment_of(step_);
  const int32_t other = accesses_[static_cast<size_t>(ref.device)].add({now, segment, write, ref.offset, bytes});
  if (other < 0) return {};
  const int32_t earlier = order_.segment_of(static_cast<size_t>(other));
  return plan_error(Point::order,
                    step_text(step_) + (write ? " writes " : " reads ") + ref_text(ref) + " while " +
                        step_text(static_cast<size_t>(other)) + " may still be at it",
                    "segment " + std::to_string(segment) + " of " + device_name(order_.queue_of(segment)) +
                        " does not wait for segment " + std::to_string(earlier) + " of " +
                        device_name(order_.queue_of(earlier)),
                    label);
}

}  // namespace chiaro
