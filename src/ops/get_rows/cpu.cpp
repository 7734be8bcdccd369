#include "core/block_formats.h"
#include "ops/cpu_blocks/block_weight.h"
#include "ops/cpu_blocks/simd_math.h"
#include "ops/cpu_kernel.h"
#include "ops/get_rows/op.h"

#include <algorithm>
#include <cstring>

namespace chiaro {
namespace {

// Tables of every plain float dtype or i8, at any strides, or of block types, in whole rows; f32, f16 and bf16 results.
struct GetRowsCpu {
  using Op = GetRows;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.get_rows";
  struct Params {
    TensorDesc table, ids, out;
  };
  static Result<Minted<GetRowsCpu>> plan(const TypedCall<GetRows>& call, const DeviceTraits&) {
    const TensorDesc& table = call.in(0);
    if (!row_decodable(table.dtype) && !(is_block(table.dtype) && whole_block_rows(table))) {
      return kernel_refusal(name, table.text(),
                            "a table of a float type, i8, or a block type with rows of whole blocks");
    }
    if (!row_encodable(call.out().dtype)) return kernel_refusal(name, call.out().text(), "a result of f32, f16, bf16");
    return Minted<GetRowsCpu>({call.in(0), call.in(1), call.out()});
  }
  static Status run(const Minted<GetRowsCpu>& plan, CpuRun& run) {
    // All numbers are checked before a row is read.
    const int64_t rows = plan->table.shape[0];
    std::vector<int64_t> ids(static_cast<size_t>(plan->ids.count()));
    for_each_element(plan->ids, [&](int64_t i, int64_t offset) {
      int32_t id = 0;
      std::memcpy(&id, run.inputs[1] + offset * static_cast<int64_t>(sizeof id), sizeof id);
      ids[static_cast<size_t>(i)] = id;
    });
    const auto bad = std::find_if(ids.begin(), ids.end(), [&](int64_t id) { return id < 0 || id >= rows; });
    if (bad != ids.end()) return GetRows::out_of_range(*bad, bad - ids.begin(), rows);
    const int64_t width = plan->table.shape[1];
    const int64_t per_chunk = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width));
    const auto count = static_cast<int64_t>(ids.size());
    run.parallel_for((count + per_chunk - 1) / per_chunk, [&](int64_t chunk, int) {
      for (int64_t i = chunk * per_chunk; i < std::min(count, (chunk + 1) * per_chunk); ++i) {
        copy_row(*plan, run, ids[static_cast<size_t>(i)], i);
      }
    });
    return {};
  }

 private:
  // Row `id` of the table to row `i` of the result, piece by piece through f32.
  static void copy_row(const Params& p, const CpuRun& run, int64_t id, int64_t i) {
    constexpr int64_t kPiece = 1024;
    alignas(64) float stage[kPiece];
    const int64_t width = p.table.shape[1];
    const int64_t from_unit = unit_bytes(p.table.dtype), to_unit = unit_bytes(p.out.dtype);
    for (int64_t d = 0; d < width; d += kPiece) {
      const auto n = static_cast<size_t>(std::min(kPiece, width - d));
      if (is_block(p.table.dtype)) {
        decode_blocks(p.table.dtype, run.inputs[0], id * p.table.strides[0] + d, static_cast<int64_t>(n), stage);
      } else {
        const std::byte* source = run.inputs[0] + (id * p.table.strides[0] + d * p.table.strides[1]) * from_unit;
        decode_row(p.table.dtype, source, p.table.strides[1], n, stage);
      }
      encode_row(p.out.dtype, stage, n, run.output + (i * width + d) * to_unit, 1);
    }
  }
};

}  // namespace

Kernels cpu_kernels_get_rows() {
  return make_kernels<GetRowsCpu>();
}

}  // namespace chiaro
