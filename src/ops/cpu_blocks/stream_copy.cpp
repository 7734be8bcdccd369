// Copies past the caches, compiled once per instruction set.
#include "ops/cpu_blocks/stream_copy.h"

#include <algorithm>
#include <cstring>

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/stream_copy.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void stream(std::byte* target, const std::byte* source, size_t bytes) {
  constexpr size_t kLine = 64;
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  const size_t head = std::min(bytes, (kLine - reinterpret_cast<uintptr_t>(target) % kLine) % kLine);
  std::memcpy(target, source, head);
  auto* to = reinterpret_cast<uint8_t*>(target + head);
  const auto* from = reinterpret_cast<const uint8_t*>(source + head);
  const size_t lines = (bytes - head) / kLine * kLine;
  for (size_t i = 0; i < lines; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::memcpy(target + head + lines, source + head + lines, bytes - head - lines);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(stream);

void stream_bytes(std::byte* target, const std::byte* source, size_t bytes) {
  HWY_DYNAMIC_DISPATCH(stream)(target, source, bytes);
}
void stream_end() {
  hwy::FlushStream();
}

}  // namespace chiaro
#endif
