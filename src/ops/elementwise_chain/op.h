// elementwise_chain: several elementwise steps in one pass over memory, computed in f32 and rounded once, at the end.
//
// `steps` is a program for an accumulator that starts as x; its steps are divided by ";":
//   add K   sub K   mul K   div K     acc = acc (+ - * /) input K; input 0 is x, the operands count from 1
//   rsub K  rdiv K                    acc = input K (- /) acc
//   scale A [B]                       acc = acc * A + B
//   relu  silu  gelu  gelu_tanh  quick_gelu  sigmoid  tanh
// "mul 1; add 2; silu" is silu(x * operand1 + operand2). Operands stretch to the shape of x by numpy's rule. Models do
// not write it: the fuse pass joins single ops to it (rewrite "fuse.elementwise"), and it decomposes into them.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct ChainStep {
  enum class Kind { plus, minus, times, over, minus_from, over_from, affine, activation };
  Kind kind = Kind::plus;
  int operand = 0;                           // of the first six
  double scale = 1, shift = 0;               // of affine ("scale")
  Activation activation = Activation::none;  // of activation
  bool reads_operand() const { return kind != Kind::affine && kind != Kind::activation; }
};

inline constexpr int kMaxChainOperands = 8, kMaxChainSteps = 32;

// Errors: shape, saying which step is not understood.
Result<std::vector<ChainStep>> parse_chain(std::string_view text);
std::string chain_text(std::span<const ChainStep> steps);  // reads back to the same steps

struct ElementwiseChain {
  static constexpr std::string_view name = "elementwise_chain", formula = "y = steps(x, operands...), rounded once";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}, InputSpec{"operands", "[...], stretch to x", true}};
  static constexpr bool variadic = true;
  struct Attrs {
    std::string steps;
    template <class V>
    void visit(V& v) {
      v("steps", steps);
    }
  };
  static constexpr Alias alias{.may_overwrite = 0};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs& attrs, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
  static Value decompose(GraphBuilder& g, const Attrs& attrs, std::span<const Value> in);
};

inline constexpr OpCall<ElementwiseChain> elementwise_chain{};
const OpDef& op_def_elementwise_chain();

}  // namespace chiaro
