// What a variant of a conformance case should give, and whether what a kernel gave is that. Shared by the conformance
// suite, the self-test and the mutants of GPU kernels.
//
// Thread rule: pure functions of their arguments. A Variant points at its Case, which its owner keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/conformance/variants.h"
#include "runtime/conformance_run.h"

namespace chiaro {

// The conformance cases of an op; none where it has no cases.cpp.
std::vector<Case> cases_of(std::string_view op);

struct Expectation {
  TensorDesc out;
  std::vector<std::vector<double>> values;  // of the inputs, dense
  RefTensor result;
  double before_act = 0;  // the largest magnitude without the op's activation
};

// What the variant costs, roughly: operations, and elements of its operands.
double work_of(const Variant& v, const TensorDesc& out);

// In double precision; `out` is what v.infer() says. Errors: what the reference reports, and a decomposition that
// differs from the reference.
Result<Expectation> expectation(const Variant& v, const TensorDesc& out);

// What is wrong with a run that was not refused, in full; nothing where it is as expected. `by`: who ran it.
std::optional<std::string> wrong_with(const Variant& v, const Expectation& expected, const VariantRun& run,
                                      std::string_view by);

}  // namespace chiaro
