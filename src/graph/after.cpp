#include "graph/after.h"

namespace chiaro {

const OpDef& after_op() {
  static const OpDef def = [] {
    OpDef op;
    op.name = "after";
    op.formula = "y = the view x, at the version of w";
    op.kind = OpKind::view;
    op.inputs = {{"x", "[...]"}, {"w", "[...] (another view of the same storage)"}};
    op.check_attrs = [](const AttrMap& attrs) {
      return decode_attrs<NoAttrs>(attrs).ok() ? Status{} : Status{op_error("after", "attributes", "it has none")};
    };
    op.view = [](const AttrMap&, InputDescs in) -> Result<ViewResult> { return ViewResult{*in[0], 0}; };
    op.cost = [](const AttrMap&, InputDescs, const TensorDesc&) { return Cost{}; };
    return op;
  }();
  return def;
}

}  // namespace chiaro
