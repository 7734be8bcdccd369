// rope_apply: rotary position embedding, Su et al., arXiv:2104.09864. Pair i of a head is (x[2i], x[2i+1]) in the
// interleaved layout and (x[i], x[i+d/2]) in the split one; rot[l,i] is the 2x2 matrix that pair i of position l is
// multiplied by: y0 = r00*x0 + r01*x1, y1 = r10*x0 + r11*x1.
//
// With norm, x is what rms_norm(x, weight) with that eps makes of it, head by head: queries and keys of transformers
// that normalise both are read and written once. The norm is an option of the rotation, not the rotation one of the
// norm: rows of a norm are any, but a rotation needs heads and positions, and a device without it can still have the
// norm.
#pragma once

#include "graph/declare.h"

namespace chiaro {

enum class RopeLayout { interleaved, split };
std::string_view attr_enum_name(RopeLayout layout);
bool attr_enum_parse(std::string_view text, RopeLayout& layout);

struct RopeApply {
  static constexpr std::string_view name = "rope_apply",
                                    formula = "y pair = rot[l, pair] * (norm: rms_norm(x, weight)) x pair";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[N,L,heads,d]"}, InputSpec{"rot", "[L,d/2,2,2] f32"},
                                     InputSpec{"weight", "[d], of the norm", true}};
  static constexpr Prologue prologue{.op = "rms_norm", .flag = "norm", .rewrite = "rope"};
  struct Attrs {
    RopeLayout layout = RopeLayout::interleaved;
    bool norm = false;
    double eps = 1e-6;  // of the norm
    template <class V>
    void visit(V& v) {
      v("layout", layout);
      v("norm", norm);
      v("eps", eps);
    }
  };
  static constexpr Alias alias{.may_overwrite = 0};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
  // The norm, then slices, four products, two sums and a concat, in f32.
  static Value decompose(GraphBuilder& g, const Attrs& attrs, std::span<const Value> in);
};

inline constexpr OpCall<RopeApply> rope_apply{};
const OpDef& op_def_rope_apply();

}  // namespace chiaro
