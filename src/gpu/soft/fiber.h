// A stackful switch between the threads of a threadgroup, written by hand: 10 to 40 ns, where ucontext costs a system
// call. x86-64 (System V) and aarch64.
#pragma once

#include <cstddef>

// Saves what a call must preserve and the stack pointer to *from, and goes on where `to` was saved.
extern "C" void chiaro_fiber_switch(void** from, void* to);

namespace chiaro::gpu::soft {

inline constexpr size_t kFiberStack = 64 * 1024;

// Where a fiber, or the scheduler, goes on; and its stack, for AddressSanitizer.
struct FiberContext {
  void* sp = nullptr;
  const void* stack = nullptr;
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;
};

// A context in `stack` (kFiberStack bytes) that calls entry() when it is switched to. entry calls fiber_arrived() first
// and never returns. `spread` moves the top so that the frames of many fibers do not share cache sets.
FiberContext make_fiber(std::byte* stack, void (*entry)(), size_t spread);

// `ends`: `from` is never switched to again.
void switch_fiber(FiberContext& from, FiberContext& to, bool ends = false);
// Learns the scheduler's stack where that is not known yet; the first fiber of a threadgroup comes from it.
void fiber_arrived(FiberContext& scheduler);

// `count` stacks in one mapping, the lowest page of each without access. Null where memory is refused.
std::byte* map_stacks(size_t count);
void unmap_stacks(std::byte* stacks, size_t count);

}  // namespace chiaro::gpu::soft
