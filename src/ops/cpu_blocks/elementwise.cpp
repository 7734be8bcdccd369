#include "ops/cpu_blocks/elementwise.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/tensor.h"
#include "ops/cpu_blocks/simd_math.h"
#include "ops/cpu_blocks/stream_copy.h"
#include "ops/cpu_blocks/strided_copy.h"

namespace chiaro {
namespace {

constexpr int64_t kChunk = 16384;  // elements that a thread takes at once
constexpr int64_t kPiece = kElementwisePiece;
constexpr int64_t kLongRun = 32;   // from it on a run is worth a call of the row function
constexpr int64_t kShortRun = 16;  // below it a call per run costs more than a plain loop

// An f32 operand that can be used in place from element `start` on.
bool direct(const Elementwise& plan, size_t operand, const std::byte* base) {
  return plan.nest.flat[operand] && plan.dtypes[operand] == DType::f32 &&
         reinterpret_cast<uintptr_t>(base) % alignof(float) == 0;
}

// Whether all operands are of one dtype that rows are computed in, and lie in dense, aligned, long enough runs.
bool in_dense_runs(const Elementwise& plan, const std::byte* const* in, const std::byte* out) {
  const DType dtype = plan.dtypes[0];
  if (!row_encodable(dtype)) return false;
  const auto unit = static_cast<uintptr_t>(unit_bytes(dtype));
  bool all_flat = true;
  for (size_t k = 0; k <= plan.inputs; ++k) {
    const std::byte* base = k == 0 ? out : in[k - 1];
    if (plan.dtypes[k] != dtype || reinterpret_cast<uintptr_t>(base) % unit != 0) return false;
    all_flat = all_flat && plan.nest.flat[k];
    if (!plan.nest.flat[k] && plan.nest.inner_stride(k) != 1) return false;
  }
  return all_flat || plan.nest.inner_size() >= kLongRun;
}

// Operands in dense runs, used where they lie.
void run_in_place(const CpuRun& run, const Elementwise& plan, const std::byte* const* in, std::byte* out,
                  const RowFunction& row) {
  const int64_t unit = unit_bytes(plan.dtypes[0]);
  const Nest& nest = plan.nest;
  bool all_flat = true;
  for (size_t k = 0; k <= plan.inputs; ++k) all_flat = all_flat && nest.flat[k];
  const bool streaming = streams(plan, in, out);
  run.parallel_for((nest.count + kChunk - 1) / kChunk, [&](int64_t chunk, int) {
    const int64_t start = chunk * kChunk, n = std::min(kChunk, nest.count - start);
    std::array<std::array<int64_t, kChunk / kLongRun + 2>, Nest::kMaxOperands> offsets;
    std::array<int64_t, kChunk / kLongRun + 2> lengths;
    size_t runs = 1;
    lengths[0] = n;
    for (size_t k = 0; k <= plan.inputs; ++k) {
      offsets[k][0] = start;
      if (all_flat) continue;
      runs = 0;
      for_each_run(nest, k, start, n, [&](int64_t offset, int64_t length) {
        offsets[k][runs] = offset;
        lengths[runs++] = length;
      });
    }
    for (size_t r = 0; r < runs; ++r) {
      std::array<const std::byte*, Nest::kMaxOperands> rows{};
      for (size_t k = 0; k < plan.inputs; ++k) rows[k] = in[k] + offsets[k + 1][r] * unit;
      std::byte* const target = out + offsets[0][r] * unit;
      const bool aligned = reinterpret_cast<uintptr_t>(target) % kStreamAlignment == 0;
      row({plan.dtypes[0], streaming && aligned}, rows.data(), target, static_cast<size_t>(lengths[r]));
    }
    if (streaming) stream_end();
  });
}

void gather_run(DType dtype, const std::byte* source, int64_t stride, int64_t n, float* out) {
  const auto count = static_cast<size_t>(n);
  if (stride == 0) {
    float value = 0;
    decode_row(dtype, source, 1, 1, &value);
    std::fill_n(out, count, value);
  } else if (dtype == DType::f32 && (n < kShortRun || stride != 1)) {
    const int64_t step = stride * static_cast<int64_t>(sizeof(float));
    for (int64_t i = 0; i < n; ++i) std::memcpy(out + i, source + i * step, sizeof(float));
  } else {
    decode_row(dtype, source, stride, count, out);
  }
}

// Elements [start, start + n) of an operand to f32.
void gather(const Elementwise& plan, size_t operand, const std::byte* base, int64_t start, int64_t n, float* out) {
  const DType dtype = plan.dtypes[operand];
  const int64_t unit = unit_bytes(dtype);
  if (plan.nest.flat[operand]) return decode_row(dtype, base + start * unit, 1, static_cast<size_t>(n), out);
  const int64_t stride = plan.nest.inner_stride(operand);
  for_each_run(plan.nest, operand, start, n, [&](int64_t offset, int64_t length) {
    gather_run(dtype, base + offset * unit, stride, length, out);
    out += length;
  });
}

// Integers and FP8 targets: one element at a time, through double, which holds them all.
void convert_slowly(const Elementwise& plan, const std::byte* in, std::byte* out, int64_t start, int64_t n) {
  std::array<int64_t, kPiece> from;
  int64_t i = 0;
  const int64_t in_stride = plan.nest.inner_stride(1), out_stride = plan.nest.inner_stride(0);
  for_each_run(plan.nest, 1, start, n, [&](int64_t offset, int64_t length) {
    for (int64_t j = 0; j < length; ++j) from[static_cast<size_t>(i++)] = offset + j * in_stride;
  });
  i = 0;
  for_each_run(plan.nest, 0, start, n, [&](int64_t offset, int64_t length) {
    for (int64_t j = 0; j < length; ++j) {
      const double value = load_element(plan.dtypes[1], in, from[static_cast<size_t>(i++)]);
      store_element(plan.dtypes[0], out, offset + j * out_stride, value);
    }
  });
}

}  // namespace

void for_each_piece(const CpuRun& run, int64_t count, const std::function<void(int64_t start, int64_t n)>& f) {
  run.parallel_for((count + kChunk - 1) / kChunk, [&](int64_t chunk, int) {
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    for (int64_t start = chunk * kChunk; start < end; start += kPiece) f(start, std::min(kPiece, end - start));
    stream_end();
  });
}

bool streams(const Elementwise& plan, const std::byte* const* in, const std::byte* out) {
  bool apart = plan.nest.flat[0];
  for (size_t k = 0; k < plan.inputs; ++k) apart = apart && in[k] != out;
  return apart && worth_streaming(plan.nest.count * unit_bytes(plan.dtypes[0]));
}

const float* row_of(const Elementwise& plan, size_t operand, const std::byte* base, int64_t start, int64_t n,
                    float* stage) {
  if (direct(plan, operand, base)) return reinterpret_cast<const float*>(base) + start;
  gather(plan, operand, base, start, n, stage);
  return stage;
}

float* direct_target(const Elementwise& plan, std::byte* out, int64_t start) {
  return direct(plan, 0, out) ? reinterpret_cast<float*>(out) + start : nullptr;
}

void store_row_of(const Elementwise& plan, const float* in, int64_t start, int64_t n, std::byte* base) {
  const DType dtype = plan.dtypes[0];
  const int64_t unit = unit_bytes(dtype);
  if (plan.nest.flat[0]) return encode_row(dtype, in, static_cast<size_t>(n), base + start * unit, 1);
  const int64_t stride = plan.nest.inner_stride(0);
  for_each_run(plan.nest, 0, start, n, [&](int64_t offset, int64_t length) {
    encode_row(dtype, in, static_cast<size_t>(length), base + offset * unit, stride);
    in += length;
  });
}

Elementwise make_elementwise(const TensorDesc& out, std::initializer_list<TensorDesc> in) {
  std::vector<TensorDesc> all{out};
  all.insert(all.end(), in.begin(), in.end());
  Elementwise plan;
  plan.nest = make_nest(all);
  plan.inputs = in.size();
  for (size_t k = 0; k < all.size(); ++k) plan.dtypes[k] = all[k].dtype;
  return plan;
}

void run_elementwise(const CpuRun& run, const Elementwise& plan, std::initializer_list<const std::byte*> in,
                     std::byte* out, const RowFunction& row) {
  const std::byte* const* bases = in.begin();
  if (in_dense_runs(plan, bases, out)) return run_in_place(run, plan, bases, out, row);
  for_each_piece(run, plan.nest.count, [&](int64_t start, int64_t n) {
    alignas(64) float stage[Nest::kMaxOperands][kPiece];
    std::array<const std::byte*, Nest::kMaxOperands> rows{};
    for (size_t k = 0; k < plan.inputs; ++k) {
      rows[k] = reinterpret_cast<const std::byte*>(row_of(plan, k + 1, bases[k], start, n, stage[k]));
    }
    float* const in_place = direct_target(plan, out, start);
    float* target = in_place != nullptr ? in_place : stage[Nest::kMaxOperands - 1];
    row(DType::f32, rows.data(), reinterpret_cast<std::byte*>(target), static_cast<size_t>(n));
    if (in_place == nullptr) store_row_of(plan, target, start, n, out);
  });
}

void run_conversion(const CpuRun& run, const Elementwise& plan, const std::byte* in, std::byte* out) {
  const bool vectorised = row_decodable(plan.dtypes[1]) && row_encodable(plan.dtypes[0]);
  const bool streaming = vectorised && streams(plan, &in, out);
  const int64_t unit = unit_bytes(plan.dtypes[0]);
  for_each_piece(run, plan.nest.count, [&](int64_t start, int64_t n) {
    if (!vectorised) return convert_slowly(plan, in, out, start, n);
    if (streaming) {
      alignas(64) float row[kPiece], coded[kPiece];
      const float* const from = row_of(plan, 1, in, start, n, row);
      encode_row(plan.dtypes[0], from, static_cast<size_t>(n), coded, 1);
      return stream_bytes(out + start * unit, reinterpret_cast<const std::byte*>(coded), static_cast<size_t>(n * unit));
    }
    if (direct(plan, 0, out)) return gather(plan, 1, in, start, n, reinterpret_cast<float*>(out) + start);
    if (direct(plan, 1, in)) return store_row_of(plan, reinterpret_cast<const float*>(in) + start, start, n, out);
    alignas(64) float stage[kPiece];
    gather(plan, 1, in, start, n, stage);
    store_row_of(plan, stage, start, n, out);
  });
}

Result<const std::byte*> detached(const CpuRun& run, const TensorDesc& a, const std::byte* a_data, TensorDesc& b_desc,
                                  const std::byte* b, std::vector<std::byte>& storage) {
  if (!may_overlap(a, a_data, b_desc, b) || same_view(a, a_data, b_desc, b)) return b;
  const TensorDesc copy = dense(b_desc.dtype, b_desc.shape);
  try {
    storage.resize(static_cast<size_t>(copy.dense_bytes()));
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "no memory for a copy of " + b_desc.text(),
                 "it shares memory with the tensor that is written", "", ""};
  }
  run_copy(run, make_copy(copy, b_desc), b, storage.data());
  b_desc = copy;
  return static_cast<const std::byte*>(storage.data());
}

}  // namespace chiaro
