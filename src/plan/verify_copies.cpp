// Points 2, 3 and 4 of copies: what they carry, where to, and that results written on an image come home.
#include <algorithm>

#include "plan/verify_replay.h"

namespace chiaro {
namespace {

constexpr int64_t kImageAlignment = 64;  // bytes; an image promises kernels what its storage would

}  // namespace

Status Replay::replay_copy(const PlanStep& step) {
  const auto index = static_cast<size_t>(step.copy);
  const auto bad = [&](const std::string& what) {
    return plan_error(Point::operands, "copy " + std::to_string(step.copy) + " " + what, "", "");
  };
  if (index >= plan_.copies.size()) return bad("is not of the plan");
  if (copied_[index]) return bad("is done twice");
  if (step.node >= 0 || !step.kernel.empty()) return bad("shares its step with a kernel");
  const PlanCopy& copy = plan_.copies[index];
  if (!copy.value.valid() || static_cast<size_t>(copy.value.id) >= graph_.values().size()) return bad("has no value");
  const ValueInfo& info = graph_.info(copy.value);
  if (copy.begin < 0 || copy.begin >= copy.end || copy.end > graph_.storage(info.storage).bytes) {
    return bad("has bytes " + range_text(copy.begin, copy.end) + " of a storage of " +
               std::to_string(graph_.storage(info.storage).bytes));
  }
  copied_[index] = true;
  const std::string label = "copy " + std::to_string(step.copy);
  CHIARO_TRY(check_copy(step, copy, label));
  const Extent bytes = solid_extent(copy.end - copy.begin);
  CHIARO_TRY(order_access(copy.from, bytes, false, label));
  CHIARO_TRY(order_access(copy.to, bytes, true, label));
  StorageState& storage = state(info.storage);
  storage.copied = true;
  carry(copy);
  if (copy.back) bring_home(storage, copy);
  return {};
}

Status Replay::check_copy(const PlanStep& step, const PlanCopy& copy, const std::string& label) {
  const ValueInfo& info = graph_.info(copy.value);
  const std::string text = value_text(copy.value);
  if (!has_device(copy.from.device) || !has_device(copy.to.device) || copy.from.region == Region::none) {
    return plan_error(Point::operands, text + " is copied from or to no device",
                      ref_text(copy.from) + " to " + ref_text(copy.to), label);
  }
  if (copy.to.region != Region::arena || copy.to.device != step.device) {
    return plan_error(Point::bytes, text + " is copied to " + ref_text(copy.to),
                      "a copy writes the arena of the device that runs it", label);
  }
  const int64_t bytes = copy.end - copy.begin;
  CHIARO_TRY(check_bounds(copy.value, copy.to, bytes, label));
  if (!copy.staged && !device(copy.to.device).copies_from(device(copy.from.device))) {
    return plan_error(Point::operands, text + " is copied from " + ref_text(copy.from),
                      device_name(copy.to.device) + " cannot copy from " + device_name(copy.from.device), label);
  }
  if (copy.from.region == Region::arena) {
    CHIARO_TRY(check_bounds(copy.value, copy.from, bytes, label));
    if (copy.from.device == copy.to.device && std::abs(copy.from.offset - copy.to.offset) < bytes) {
      return plan_error(Point::bytes, text + " is copied over itself", ref_text(copy.from) + " to " + ref_text(copy.to),
                        label);
    }
    CHIARO_TRY(check_carries(copy, label));
  } else {
    const MemRef& home = state(info.storage).home;
    if (copy.from.region != home.region || copy.from.index != home.index || copy.from.offset != copy.begin ||
        info.version != 0 || !staged(copy.from)) {
      return plan_error(Point::operands, text + " is copied from " + ref_text(copy.from),
                        "it lives at " + ref_text(home), label);
    }
  }
  return check_copy_target(copy, label);
}

// The bytes that the value looks at are at its version. What lies between its rows comes along as it is.
Status Replay::check_carries(const PlanCopy& copy, const std::string& label) const {
  const ValueInfo& info = graph_.info(copy.value);
  const Extent& view = extent(copy.value);
  const int64_t base = copy.from.offset - copy.begin;
  std::string found;
  arenas_[static_cast<size_t>(copy.from.device)].all(
      copy.from.offset, copy.from.offset + copy.end - copy.begin, [&](int64_t a, int64_t b, const Holding& h) {
        const bool holds =
            h.storage == info.storage && h.base == base &&
            same_bytes(info.storage, h.version, info.version, a - base, b - base, view, info.offset_bytes);
        if (holds || !touches(view, a - base - info.offset_bytes, b - base - info.offset_bytes)) return true;
        found = holding_text(copy.from.device, h, a, b);
        return false;
      });
  if (found.empty()) return {};
  return plan_error(Point::operands, "a copy of " + value_text(copy.value) + " is made from " + ref_text(copy.from),
                    found, label);
}

// The target holds what the source held, byte for byte.
void Replay::carry(const PlanCopy& copy) {
  const ValueInfo& info = graph_.info(copy.value);
  const int64_t base = copy.to.offset - copy.begin;
  if (copy.from.region != Region::arena) {
    arena(copy.to.device).set(copy.to.offset, base + copy.end, {info.storage, 0, base});
    return;
  }
  struct Part {
    int64_t begin, end;  // in the target
    Holding holding;
  };
  std::vector<Part> parts;
  const int64_t from = copy.from.offset - copy.begin, shift = copy.to.offset - copy.from.offset;
  arena(copy.from.device).all(copy.from.offset, from + copy.end, [&](int64_t a, int64_t b, const Holding& h) {
    Holding now;
    if (h.storage == info.storage && h.base == from) {
      const bool same =
          same_bytes(info.storage, h.version, info.version, a - from, b - from, solid_extent(b - a), a - from);
      now = {h.storage, same ? info.version : h.version, base};
    }
    parts.push_back({a + shift, b + shift, now});
    return true;
  });
  for (const Part& part : parts) arena(copy.to.device).set(part.begin, part.end, part.holding);
}

Status Replay::check_copy_target(const PlanCopy& copy, const std::string& label) const {
  const ValueInfo& info = graph_.info(copy.value);
  const int64_t base = copy.to.offset - copy.begin;
  if (is_home(info.storage, copy.to.device, base) != copy.back) {
    return plan_error(Point::targets,
                      std::string("a copy ") + (copy.back ? "back" : "out") + " of " + value_text(copy.value) +
                          " goes to " + ref_text(copy.to),
                      "its storage lives at " + ref_text(state(info.storage).home), label);
  }
  if (base % kImageAlignment == 0) return {};
  return plan_error(Point::bytes, "an image of " + value_text(copy.value) + " lies at " + ref_text(copy.to),
                    "byte " + std::to_string(copy.begin) + " of a storage that starts at a multiple of " +
                        std::to_string(kImageAlignment),
                    label);
}

// What of the bytes written away the copy has brought home.
void Replay::bring_home(StorageState& storage, const PlanCopy& copy) const {
  std::vector<Away> left;
  const int32_t version = graph_.info(copy.value).version;
  for (const Away& away : storage.away) {
    const ValueInfo& written = graph_.info(away.value);
    if (version < written.version) {
      left.push_back(away);
      continue;
    }
    const Extent& rows = extent(away.value);
    const auto keep = [&](int64_t begin, int64_t end) {
      if (touches(rows, begin - written.offset_bytes, end - written.offset_bytes)) {
        left.push_back({away.value, begin, end});
      }
    };
    keep(away.begin, std::min(away.end, copy.begin));
    keep(std::max(away.begin, copy.end), away.end);
  }
  storage.away = std::move(left);
}

Status Replay::check_all_home() const {
  for (const StorageState& storage : storages_) {
    if (storage.away.empty()) continue;
    const Value v = storage.away.front().value;
    const Node& node = graph_.nodes()[static_cast<size_t>(graph_.info(v).producer)];
    return plan_error(Point::targets, value_text(v) + " was written on a copy and never copied back",
                      "its storage lives at " + ref_text(storage.home), node.label);
  }
  return {};
}

}  // namespace chiaro
