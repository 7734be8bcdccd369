// OpDef: what the engine knows of an operation, derived from its declaration in src/ops/<op>/op.h (graph/declare.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"
#include "graph/attrs.h"

namespace chiaro {

class GraphBuilder;
struct Value;

struct InputSpec {
  std::string_view name;
  std::string_view shape;  // in words: "[N,H,W,C]"
  bool optional = false;
};

enum class OpKind {
  compute,  // writes fresh memory
  view,     // another look at its first input's memory: nothing runs
  inplace,  // its result *is* its first input's memory, one version later
};

// What memory the result of a compute op may share.
struct Alias {
  int may_overwrite = -1;  // an input of the same shape whose memory the output may take (element by element), or -1
};

struct Cost {
  double flops = 0;
  double bytes = 0;  // minimum traffic: every input read once, the output written once
};

// What an elementwise op does to one element, for passes that join such ops: an activation's name (ops/activation.h) or
// "scale" (x * scale + shift) of one input, "add", "sub", "mul" or "div" of two.
struct ElementwiseStep {
  std::string_view function;
  double scale = 1, shift = 0;  // of "scale" alone
};

// An op that comes before another one and can be computed by it: where the first input of the latter is its result, the
// rewrite takes its inputs in place of that. Its further inputs go to inputs of the same name, which must be absent,
// its attributes to attributes of the same name; others have their default. `flag` is the attribute that says so.
struct Prologue {
  std::string_view op, flag, rewrite;  // "rope" for fuse.rope; empty for other ops
};

// What a gated unit does with the halves of its input's last dimension: y = function(gate) * the other half.
struct GatedHalves {
  std::string_view function;  // an activation's name
  bool gate_first = false;
};

// A dense tensor in double precision, for references. `present` is false for an optional input left out.
struct RefTensor {
  Shape shape;
  std::vector<double> data;
  bool present = true;
};

// Descriptions of a node's inputs; nullptr for an optional input left out.
using InputDescs = std::span<const TensorDesc* const>;

struct ViewResult {
  TensorDesc desc;
  int64_t offset_bytes = 0;  // added to the offset of the input
};

struct OpDef {
  std::string_view name;
  std::string_view formula;  // one line
  OpKind kind = OpKind::compute;
  std::vector<InputSpec> inputs;
  bool variadic = false;  // the last InputSpec repeats (concat, custom)
  AttrMap default_attrs;
  Alias alias;
  bool deterministic = true;
  // For an op that can take what follows it (inputs "weight", "bias", "residual", attribute "act"): which rewrite of
  // the fuse pass does that, "norm" for fuse.norm. Empty for other ops.
  std::string_view fuses_as;
  // For one of these that takes a factor behind its activation (input "scale"), and then a term (input "shift", or its
  // "residual"): which rewrite does that, "modulate" for fuse.modulate, where the factor stretches to the result, and
  // where it has the result's own shape.
  std::string_view scales_as, multiplies_as;
  // For an op that can compute what makes its first input.
  Prologue prologue;

  Status (*check_attrs)(const AttrMap&) = nullptr;
  // Shape and dtype of the output (compute), or checks only (inplace: the result is the first input's view).
  Result<TensorDesc> (*infer)(const AttrMap&, InputDescs) = nullptr;
  Result<ViewResult> (*view)(const AttrMap&, InputDescs) = nullptr;  // kind view only
  Cost (*cost)(const AttrMap&, InputDescs, const TensorDesc& out) = nullptr;
  // Null where the op is not elementwise arithmetic.
  ElementwiseStep (*step)(const AttrMap&) = nullptr;
  // Null where the op is no gated unit.
  GatedHalves (*gated)(const AttrMap&) = nullptr;
  // The axis of an input that runs along the result's last one, from the end: -1 is the last; 0: the input has none.
  // Null where a part of the result's channels is not what the op makes of that part of its inputs.
  int (*channel_axis)(const AttrMap&, size_t input) = nullptr;
  // The oracle: `out` arrives with its shape set and data sized. Null where the op is defined by `decompose`.
  Status (*reference)(const AttrMap&, std::span<const RefTensor>, RefTensor& out) = nullptr;
  // The same result from simpler ops. Null where there is none.
  Value (*decompose)(GraphBuilder&, const AttrMap&, std::span<const Value>) = nullptr;
};

// Helpers for declarations ------------------------------------------------------------------------------------------

// error[shape] NAME refuses ...
Error op_error(std::string_view op, std::string what, std::string why, std::string mend = "");
// Bytes of all present inputs read once and `out` written once.
double minimum_bytes(InputDescs inputs, const TensorDesc& out);

}  // namespace chiaro
