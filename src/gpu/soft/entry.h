// A compiled kernel as the software GPU calls it.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "gpu/soft/runtime.h"

namespace chiaro::gpu::soft {

struct KernelFacts {
  const char* name;
  uint32_t needs, group_bytes;
  const char* parameters;  // as the source spells them: "GPU_IN(float, x, 0), ..."
};

struct Slot {
  int slot = 0;
  bool writable = false;
  bool args = false;
  uint32_t bytes = 0;  // of the argument struct, or of one element
  uint32_t align = 1;
};

struct KernelEntry {
  KernelFacts facts;
  std::span<const Slot> slots;
  void (*one)(const Thread&, Binding*, const std::byte* args);  // one thread
  // Threads 0..threads-1 in turn, for kernels without barriers. `tid` says which one runs.
  void (*all)(Thread&, Binding*, const std::byte* args, uint32_t* tid);
};

// Both ways in which a kernel is compiled.
struct Kernel {
  const KernelEntry* checked = nullptr;
  const KernelEntry* fast = nullptr;
};

// A kernel's argument struct at slot N.
template <class T, int N>
struct Args : T {
  static constexpr int slot = N;
};

template <class F>
struct EntryOf;
template <class... P>
struct EntryOf<void (*)(const Thread&, P...)> {
  template <class A>
  static A bind(Binding* bindings, const std::byte* args) {
    if constexpr (requires { A::bind(bindings); }) {
      return A::bind(bindings);
    } else {
      A a;
      std::memcpy(static_cast<void*>(&a), args, sizeof(A));
      return a;
    }
  }
  template <class A>
  static constexpr Slot slot_of() {
    if constexpr (requires(Binding * b) { A::bind(b); }) {
      return {A::slot, A::writable, false, A::element_bytes, A::alignment};
    } else {
      return {A::slot, false, true, sizeof(A), alignof(A)};
    }
  }
  static constexpr std::array<Slot, sizeof...(P)> slots{slot_of<P>()...};

  template <auto F>
  static void one(const Thread& thread, Binding* bindings, const std::byte* args) {
    F(thread, bind<P>(bindings, args)...);
  }
  template <auto F>
  static void all(Thread& thread, Binding* bindings, const std::byte* args, uint32_t* tid) {
    for (uint32_t t = 0; t < thread.threads; ++t) {
      *tid = t;
      thread.thread = t;
      thread.lane = t % 32;
      thread.simd = t / 32;
      F(thread, bind<P>(bindings, args)...);
    }
  }
};

template <auto F>
constexpr KernelEntry make_entry(const KernelFacts& facts) {
  using E = EntryOf<decltype(F)>;
  return {facts, E::slots, &E::template one<F>, &E::template all<F>};
}

}  // namespace chiaro::gpu::soft
