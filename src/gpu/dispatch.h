// One launch of a GPU kernel as pure data. plan() computes it on any host; the software GPU, Metal and CUDA encode it.
//
// Buffers stand at slots 0..n-1 in the order of `buffers`, the argument struct at slot n. Operands are symbolic (input
// i, output, scratch): the backend knows where they lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "chiaro/error.h"
#include "gpu/traits.h"

namespace chiaro {

// What a kernel needs of a GPU; the values are those of NEEDS_* in gpu/dialect.h.
enum GpuNeed : uint32_t {
  kGpuNeedsNothing = 0,
  kGpuNeedsSimdReduce = 1,
  kGpuNeedsSimdMatrix = 2,
  kGpuNeedsBarrier = 4,  // a barrier in a kernel without threadgroup memory
};
// "simdgroup reductions, simdgroup matrices"
std::string gpu_needs_text(uint32_t needs);

// A function constant: chosen when the kernel is made ready, folded by the compiler.
struct GpuConstant {
  enum class Kind : uint8_t { boolean, int32, uint32 };
  GpuConstant(bool v) : kind(Kind::boolean), bits(v ? 1 : 0) {}                  // NOLINT
  GpuConstant(int32_t v) : kind(Kind::int32), bits(static_cast<uint32_t>(v)) {}  // NOLINT
  GpuConstant(uint32_t v) : kind(Kind::uint32), bits(v) {}                       // NOLINT
  bool operator==(const GpuConstant&) const = default;
  Kind kind;
  uint32_t bits;
};

struct GpuOperand {
  enum class Kind : uint8_t { none, input, output, scratch };
  Kind kind = Kind::none;     // none: a slot that this variant never touches (an optional input left out)
  int index = 0;              // of an input
  int64_t offset = 0;         // bytes from the operand's first element
  int64_t bytes = 0;          // that the kernel may touch from there on
  int64_t element_bytes = 4;  // the smallest scalar that the kernel writes there
};

struct GpuSize {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// Metal's setBytes takes 4 KiB; 512 keep a dispatch small.
inline constexpr size_t kMostGpuArgBytes = 512;
inline constexpr int kMostGpuBuffers = 15;

struct GpuDispatch {
  std::string_view kernel;             // its name in kernel.gpu
  std::vector<GpuConstant> constants;  // constant i of the file
  std::vector<GpuOperand> buffers;     // slot i
  std::vector<std::byte> args;         // at slot buffers.size(); 32-bit scalars
  GpuSize groups;
  uint32_t threads = 32;  // of a threadgroup, one-dimensional, a multiple of 32
  // From the kernel's declaration.
  uint32_t needs = 0;
  uint32_t threadgroup_bytes = 0;
  // The work, for the predicted time: operations in f32 (or f16 matrices), bytes from and to memory.
  double flops = 0, bytes = 0;

  template <class A>
  void set_args(const A& a) {
    static_assert(std::is_trivially_copyable_v<A> && sizeof(A) % 4 == 0 && sizeof(A) <= kMostGpuArgBytes);
    args.resize(sizeof(A));
    std::memcpy(args.data(), &a, sizeof(A));
  }
};

// Seconds on that GPU: the launch, and the longer of arithmetic and memory. Predicted, never measured.
double predicted_seconds(const GpuDispatch& dispatch, const gpu::Traits& traits);

// Whether that GPU takes the launch: features, grid, threads, threadgroup memory, sizes of buffers, predicted time.
// Errors: unsupported, with the values.
Status check_dispatch(const GpuDispatch& dispatch, const gpu::Traits& traits);

}  // namespace chiaro
