// The dialect as C++ for the software GPU. Every kernel.gpu is compiled twice: CHIARO_GPU_CHECKED 1 and 0.
#pragma once

#include "gpu/soft/entry.h"
#include "gpu/soft/language.h"
#if CHIARO_GPU_CHECKED
#include "gpu/soft/checked.h"
#define CHIARO_GPU_MODE ::chiaro::gpu::soft::checked
#define CHIARO_GPU_MATRIX_MODE chiaro::gpu::soft::checked
#define CHIARO_GPU_HERE gpu_where
#define CHIARO_GPU_ENTRIES(op) gpu_checked_kernels_##op
#define DEVICE_PTR(T) ::chiaro::gpu::soft::checked::DevicePtr<T>
#define GROUP_PTR(T) ::chiaro::gpu::soft::checked::GroupPtr<T>
#define GPU_WHERE , ::chiaro::gpu::soft::Where gpu_where = ::chiaro::gpu::soft::Where::here()
#define GPU_AT(i) (::chiaro::gpu::soft::checked::At((i), gpu_where))
#else
#include "gpu/soft/fast.h"
#define CHIARO_GPU_MODE ::chiaro::gpu::soft::fast
#define CHIARO_GPU_MATRIX_MODE chiaro::gpu::soft::fast
#define CHIARO_GPU_HERE (::chiaro::gpu::soft::Where{})
#define CHIARO_GPU_ENTRIES(op) gpu_fast_kernels_##op
#define DEVICE_PTR(T) T*
#define GROUP_PTR(T) T*
#define GPU_WHERE
#define GPU_AT(i) (i)
#endif

#define GPU_FN [[maybe_unused]] static inline
#define CONSTANT_REF(T) const T&
#define THREAD_REF(T) T&
#define THREAD_PTR(T) T*
#define DEVICE_PTR_CAST(T, p) (CHIARO_GPU_MODE::device_cast<T>(p))
#define GROUP_PTR_CAST(T, p) (CHIARO_GPU_MODE::group_cast<T>(p))
#define GROUP_ARRAY(T, name, n)             \
  static constexpr char gpu_tag_##name = 0; \
  const auto name = CHIARO_GPU_MODE::group_alloc<T>(&gpu_tag_##name, #name, n)
#define GPU_CONST(T, name) constexpr T name
#define GPU_CONSTANT(T, name, n) \
  [[maybe_unused]] static constexpr ::chiaro::gpu::soft::language::Constant<T, n> name {}

#define GPU_IN(T, name, n) CHIARO_GPU_MODE::DeviceArg<const T, n> name
#define GPU_OUT(T, name, n) CHIARO_GPU_MODE::DeviceArg<T, n> name
#define GPU_IN_ANY(name, n) CHIARO_GPU_MODE::DeviceArg<const uint8_t, n, true> name
#define GPU_OUT_ANY(name, n) CHIARO_GPU_MODE::DeviceArg<uint8_t, n, true> name
#define GPU_ARGS(T, name, n) ::chiaro::gpu::soft::Args<T, n> name
#define GPU_KERNEL(name, needs, group_bytes, ...)                                                              \
  static void name(const ::chiaro::gpu::soft::Thread&, __VA_ARGS__);                                           \
  static constexpr ::chiaro::gpu::soft::KernelFacts gpu_facts_##name{#name, needs, group_bytes, #__VA_ARGS__}; \
  static void name(const ::chiaro::gpu::soft::Thread& gpu_self, __VA_ARGS__)

#define gpu_thread (gpu_self.thread)
#define gpu_threads (gpu_self.threads)
#define gpu_group (gpu_self.group)
#define gpu_groups (gpu_self.groups)
#define gpu_lane (gpu_self.lane)
#define gpu_simd (gpu_self.simd)
#define gpu_simds (gpu_self.simds)

#include "gpu/soft/matrix.h"

// GPU_KERNELS(op, a, b): the function that lists the kernels.
#define CHIARO_GPU_EACH_AGAIN() CHIARO_GPU_EACH_STEP
#define CHIARO_GPU_PARENS ()
#define CHIARO_GPU_EXPAND(...) \
  CHIARO_GPU_EXPAND2(CHIARO_GPU_EXPAND2(CHIARO_GPU_EXPAND2(CHIARO_GPU_EXPAND2(__VA_ARGS__))))
#define CHIARO_GPU_EXPAND2(...) \
  CHIARO_GPU_EXPAND1(CHIARO_GPU_EXPAND1(CHIARO_GPU_EXPAND1(CHIARO_GPU_EXPAND1(__VA_ARGS__))))
#define CHIARO_GPU_EXPAND1(...) __VA_ARGS__
#define CHIARO_GPU_EACH_STEP(name, ...)                       \
  ::chiaro::gpu::soft::make_entry<&::name>(gpu_facts_##name), \
      __VA_OPT__(CHIARO_GPU_EACH_AGAIN CHIARO_GPU_PARENS(__VA_ARGS__))
#define GPU_KERNELS(op, ...)                                                                       \
  namespace chiaro::gpu::soft {                                                                    \
  std::span<const KernelEntry> CHIARO_GPU_ENTRIES(op)() {                                          \
    static constexpr KernelEntry table[] = {CHIARO_GPU_EXPAND(CHIARO_GPU_EACH_STEP(__VA_ARGS__))}; \
    return table;                                                                                  \
  }                                                                                                \
  }

using namespace chiaro;
using namespace chiaro::gpu::soft::language;

// libc++ puts overloads of these for float into the global namespace, which would make a kernel's calls ambiguous.
#define abs(...) (::chiaro::gpu::soft::language::abs(__VA_ARGS__))
#define fabs(...) (::chiaro::gpu::soft::language::fabs(__VA_ARGS__))
#define floor(...) (::chiaro::gpu::soft::language::floor(__VA_ARGS__))
#define sqrt(...) (::chiaro::gpu::soft::language::sqrt(__VA_ARGS__))
#define exp(...) (::chiaro::gpu::soft::language::exp(__VA_ARGS__))
#define log(...) (::chiaro::gpu::soft::language::log(__VA_ARGS__))
#define sin(...) (::chiaro::gpu::soft::language::sin(__VA_ARGS__))
#define cos(...) (::chiaro::gpu::soft::language::cos(__VA_ARGS__))
#define tanh(...) (::chiaro::gpu::soft::language::tanh(__VA_ARGS__))
#define pow(...) (::chiaro::gpu::soft::language::pow(__VA_ARGS__))
#define fma(...) (::chiaro::gpu::soft::language::fma(__VA_ARGS__))
#define isnan(...) (::chiaro::gpu::soft::language::isnan(__VA_ARGS__))
