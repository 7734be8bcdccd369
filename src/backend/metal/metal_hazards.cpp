#include "backend/metal/metal_hazards.h"

#include <algorithm>

namespace chiaro {
namespace {

bool collide(const MetalAccess& a, const MetalAccess& b) {
  return (a.write || b.write) && a.memory == b.memory && std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

}  // namespace

bool MetalHazards::next(std::span<const MetalAccess> accesses) {
  const bool waits = std::any_of(accesses.begin(), accesses.end(), [&](const MetalAccess& access) {
    return std::any_of(open_.begin(), open_.end(), [&](const MetalAccess& other) { return collide(access, other); });
  });
  if (waits) open_.clear();
  open_.insert(open_.end(), accesses.begin(), accesses.end());
  return waits;
}

}  // namespace chiaro
