// group_norm: Wu and He, "Group normalization", arXiv:1803.08494. Channels last: x [N,...,C], group g holds the
// channels g*C/groups .. (g+1)*C/groups. Mean and (biased) variance over all positions of one picture and the group's
// channels.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct GroupNorm {
  static constexpr std::string_view name = "group_norm",
                                    formula =
                                        "y = act((x - mean) / sqrt(var + eps) * weight + bias), per picture and group";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::string_view fuses_as = "norm";
  static constexpr std::array inputs{InputSpec{"x", "[N,...,C]"}, InputSpec{"weight", "[C]", true},
                                     InputSpec{"bias", "[C]", true}};
  struct Attrs {
    int64_t groups = 32;
    double eps = 1e-5;
    Activation act = Activation::none;
    template <class V>
    void visit(V& v) {
      v("groups", groups);
      v("eps", eps);
      v("act", act);
    }
  };
  static constexpr Alias alias{.may_overwrite = 0};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<GroupNorm> group_norm{};
const OpDef& op_def_group_norm();

}  // namespace chiaro
