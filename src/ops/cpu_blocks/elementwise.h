// The loop of every elementwise CPU kernel: f32, f16 or bf16 in and out at any strides, arithmetic in f32.
//
// The elements are numbered by a Nest and cut into chunks of 64 KiB of f32, which threads take. Operands of one dtype
// that lie in dense runs are used where they lie. Else a chunk is worked off in pieces that stay in the first-level
// cache: an operand that is f32 and dense is used where it lies, any other one is gathered into (scattered from) a
// piece of f32. Work per element: one load per input, one store.
#pragma once

#include <functional>
#include <vector>

#include "ops/cpu_blocks/elementwise_rows.h"
#include "ops/cpu_kernel.h"
#include "ops/strided.h"

namespace chiaro {

// "cpu." and the op's name, for kernels that one template makes.
template <class O>
struct CpuKernelName {
  static constexpr auto text = [] {
    std::array<char, 4 + O::name.size()> chars{'c', 'p', 'u', '.'};
    std::copy(O::name.begin(), O::name.end(), chars.begin() + 4);
    return chars;
  }();
  static constexpr std::string_view value{text.data(), text.size()};
};

struct Elementwise {
  Nest nest;  // operand 0 is the output
  std::array<DType, Nest::kMaxOperands> dtypes{};
  size_t inputs = 1;
};

// `in`: each stretches to the shape of `out`. Inputs of any plain float dtype or i8; `out` of f32, f16 or bf16.
Elementwise make_elementwise(const TensorDesc& out, std::initializer_list<TensorDesc> in);

// n elements of every input to n elements of the output, all dense in one dtype: that of the operands, or f32 where
// they were gathered. `out` may equal an input row.
using RowFunction = std::function<void(RowFormat format, const std::byte* const* in, std::byte* out, size_t n)>;
void run_elementwise(const CpuRun& run, const Elementwise& plan, std::initializer_list<const std::byte*> in,
                     std::byte* out, const RowFunction& row);

// The parts of that loop, for kernels with a loop body of their own. Pieces of at most kElementwisePiece elements, all
// chunks cut alike; the elements of a piece are numbered by the nest, which depends on the output alone.
inline constexpr int64_t kElementwisePiece = 1024;  // three f32 rows of it stay in the first-level cache
void for_each_piece(const CpuRun& run, int64_t count, const std::function<void(int64_t start, int64_t n)>& f);
// Whether the result is written past the caches (stream_copy.h); for_each_piece() ends that.
bool streams(const Elementwise& plan, const std::byte* const* in, const std::byte* out);
// Elements [start, start + n) of operand 1.. as f32: where they lie if they can be used there, else in `stage`.
const float* row_of(const Elementwise& plan, size_t operand, const std::byte* base, int64_t start, int64_t n,
                    float* stage);
// Where element `start` of the output lies, if f32 rows can be written there; else null: store_row_of() converts.
float* direct_target(const Elementwise& plan, std::byte* out, int64_t start);
void store_row_of(const Elementwise& plan, const float* in, int64_t start, int64_t n, std::byte* out);

// y = x between plain dtypes; rounds to nearest even, integers are clamped. Takes every plain dtype.
void run_conversion(const CpuRun& run, const Elementwise& plan, const std::byte* in, std::byte* out);

// `b` itself, or its dense copy kept in `storage` where it shares memory with `a` otherwise than as the same view.
// `b_desc` becomes the copy's description. For in-place kernels, whose result is defined by b's old contents.
Result<const std::byte*> detached(const CpuRun& run, const TensorDesc& a, const std::byte* a_data, TensorDesc& b_desc,
                                  const std::byte* b, std::vector<std::byte>& storage);

}  // namespace chiaro
