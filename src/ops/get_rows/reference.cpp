#include <cmath>

#include "ops/get_rows/op.h"

namespace chiaro {

Result<TensorDesc> GetRows::infer(const Attrs& attrs, InputDescs in) {
  const TensorDesc &table = *in[0], &ids = *in[1];
  const std::string what = ids.text() + " of " + table.text();
  if (table.rank() != 2) return op_error(name, what, "the table is not [V,D]");
  if (ids.dtype != DType::i32) return op_error(name, what, "the row numbers are not i32");
  if (ids.rank() >= kMaxRank) return op_error(name, what, "the result would have more than 6 dimensions");
  if (!is_float(attrs.dtype)) {
    return op_error(name, what, "dtype=" + std::string(dtype_name(attrs.dtype)) + " is not a floating point type");
  }
  Shape shape = ids.shape;
  shape.push_back(table.shape[1]);
  return dense(attrs.dtype, shape);
}

// Reads only the rows that are named, each once for every naming.
Cost GetRows::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  const auto& t = traits(in[0]->dtype);
  const double read = static_cast<double>(out.count()) / t.block_elements * t.block_bytes;
  return {0, read + static_cast<double>(in[1]->dense_bytes() + out.dense_bytes())};
}

Status GetRows::reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
  const int64_t rows = in[0].shape[0], width = in[0].shape[1];
  size_t k = 0;
  for (size_t i = 0; i < in[1].data.size(); ++i) {
    const auto id = static_cast<int64_t>(std::nearbyint(in[1].data[i]));
    if (id < 0 || id >= rows) return out_of_range(id, static_cast<int64_t>(i), rows);
    for (int64_t d = 0; d < width; ++d) out.data[k++] = in[0].data[static_cast<size_t>(id * width + d)];
  }
  return {};
}

Error GetRows::out_of_range(int64_t id, int64_t position, int64_t rows) {
  return op_error(name, "row " + std::to_string(id) + " (entry " + std::to_string(position) + " of ids)",
                  "the table has rows 0 to " + std::to_string(rows - 1), "check the tokenizer against the model");
}

const OpDef& op_def_get_rows() {
  return op_def<GetRows>();
}

}  // namespace chiaro
