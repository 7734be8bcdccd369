// From a Case to what is run: dtypes, memory layouts of the inputs, batch sizes, and results over their inputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/conformance/cases.h"

namespace chiaro {

enum class Layout {
  contiguous,
  permuted,    // the memory order of the dimensions reversed
  rotated,     // the last dimension outermost in memory
  sliced,      // a window of a larger block
  stepped,     // every other element of the last dimension
  stretched,   // stride 0 over one dimension
  misaligned,  // dense, but the start is one element off
};
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::permuted,  Layout::rotated,   Layout::sliced,
                                      Layout::stepped,    Layout::stretched, Layout::misaligned};
std::string_view layout_name(Layout layout);

struct VariantInput {
  bool present = true;
  TensorDesc desc;
  Layout layout = Layout::contiguous;
  int64_t offset = 0;      // of the first element in its block, in elements
  int64_t elements = 0;    // of the block; of a block type, blocks
  int broadcast_dim = -1;  // the dimension of stride 0
};

struct Variant {
  const Case* source = nullptr;
  int case_index = 0;
  std::vector<VariantInput> inputs;
  int batch = 0;       // 0: the case has no batch
  int first = 0;       // the picture that element 0 of the batch is
  int overwrite = -1;  // the input whose memory the result takes (always 0 for in-place ops)

  std::vector<TensorDesc> descs() const;  // of absent inputs: empty shapes
  bool all_contiguous() const;
  // What infer() says of the result.
  Result<TensorDesc> infer() const;
  // "group_norm {groups=8, eps=1e-05, act="none"} x f16[2,5,7,32] permuted, weight f32[32], bias -, batch 2"
  std::string text() const;
};

// All variants of a case, without doubles. `index` is its place among the op's cases.
std::vector<Variant> expand(const Case& source, int index);
// `v` with its batch set to the `count` pictures from `first` on, layouts as they are.
Variant with_pictures(const Variant& v, int first, int count);

// The input's values, dense, in row-major order, as rounded to its dtype. A picture's values do not depend on the
// batch it is in; along a broadcast dimension they repeat. Pure function of the case.
std::vector<double> variant_values(const Variant& v, size_t input);
// The bytes of an input of a block type, whose decoded values variant_values() gives.
std::vector<std::byte> variant_blocks(const Variant& v, size_t input);

}  // namespace chiaro
