#include "gpu/soft/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#if defined(__APPLE__)
#define CHIARO_FIBER_SYMBOL "_chiaro_fiber_switch"
#define CHIARO_FIBER_TYPE ""
#define CHIARO_FIBER_SIZE ""
#else
#define CHIARO_FIBER_SYMBOL "chiaro_fiber_switch"
#define CHIARO_FIBER_TYPE ".type chiaro_fiber_switch,%function\n"
#define CHIARO_FIBER_SIZE ".size chiaro_fiber_switch,.-chiaro_fiber_switch\n"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CHIARO_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHIARO_FIBER_ASAN 1
#endif
#endif
#if CHIARO_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace {
constexpr size_t kGuard = 16384;  // without access, below each stack: a page everywhere
}  // namespace

#if defined(__x86_64__)
asm(".text\n.p2align 4\n.globl " CHIARO_FIBER_SYMBOL "\n" CHIARO_FIBER_TYPE CHIARO_FIBER_SYMBOL
    ":\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  popq %rcx\n"
    "  jmp *%rcx\n" CHIARO_FIBER_SIZE);
namespace {
// From the top down: padding (so that the entry sees the alignment of a called function), its address, six registers.
constexpr size_t kSavedWords = 7;
constexpr size_t kReturnWord = 6;
constexpr size_t kPadWords = 1;
}  // namespace
#elif defined(__aarch64__)
asm(".text\n.p2align 4\n.globl " CHIARO_FIBER_SYMBOL "\n" CHIARO_FIBER_TYPE CHIARO_FIBER_SYMBOL
    ":\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n" CHIARO_FIBER_SIZE);
namespace {
constexpr size_t kSavedWords = 20;
constexpr size_t kReturnWord = 11;  // x30
constexpr size_t kPadWords = 0;
}  // namespace
#else
#error "the software GPU's fiber switch is written for x86-64 and aarch64"
#endif

namespace chiaro::gpu::soft {

FiberContext make_fiber(std::byte* stack, void (*entry)(), size_t spread) {
#if CHIARO_FIBER_ASAN
  __asan_unpoison_memory_region(stack + kGuard, kFiberStack - kGuard);  // frames of a fiber that was left where it was
#endif
  std::byte* top = stack + kFiberStack - 64 - spread % 16 * 192;  // a multiple of 16, as stack is
  auto* words = reinterpret_cast<void**>(top) - kPadWords - kSavedWords;
  std::memset(words, 0, (kPadWords + kSavedWords) * sizeof(void*));
  words[kReturnWord] = reinterpret_cast<void*>(entry);
  return {words, stack, kFiberStack, nullptr};
}

#if CHIARO_FIBER_ASAN
void switch_fiber(FiberContext& from, FiberContext& to, bool ends) {
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake_stack, to.stack, to.stack_bytes);
  chiaro_fiber_switch(&from.sp, to.sp);
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
}
void fiber_arrived(FiberContext& scheduler) {
  const void* stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &stack, &bytes);
  if (scheduler.stack != nullptr) return;
  scheduler.stack = stack;
  scheduler.stack_bytes = bytes;
}
#else
void switch_fiber(FiberContext& from, FiberContext& to, bool) {
  chiaro_fiber_switch(&from.sp, to.sp);
}
void fiber_arrived(FiberContext&) {}
#endif

std::byte* map_stacks(size_t count) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  void* p = mmap(nullptr, count * kFiberStack, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* stacks = static_cast<std::byte*>(p);
  // A stack that overflows ends in its guard page. Where the system has no more mappings to give, it goes without.
  for (size_t i = 0; i < count; ++i) {
    if (mprotect(stacks + i * kFiberStack, kGuard, PROT_NONE) != 0) break;
  }
  return stacks;
}

void unmap_stacks(std::byte* stacks, size_t count) {
  if (stacks == nullptr) return;
#if CHIARO_FIBER_ASAN
  // The frames of fibers that were left, again: the addresses go to whoever maps memory next.
  __asan_unpoison_memory_region(stacks, count * kFiberStack);
#endif
  munmap(stacks, count * kFiberStack);
}

}  // namespace chiaro::gpu::soft
