#include "ops/conformance/cases.h"
#include "core/tensor.h"
#include "ops/custom/op.h"

namespace chiaro {
namespace {

// y = the sum of its inputs, which have one shape, in the first one's dtype.
std::shared_ptr<const HostFunction> sum_of_inputs() {
  auto fn = std::make_shared<HostFunction>();
  fn->name = "sum_of_inputs";
  fn->infer = [](std::span<const TensorDesc> in) -> Result<TensorDesc> { return dense(in[0].dtype, in[0].shape); };
  fn->run = [](std::span<const HostTensor> in, const HostTensor& out) -> Status {
    std::vector<double> sum(static_cast<size_t>(out.desc.count()));
    for (const HostTensor& x : in) {
      for_each_element(x.desc, [&](int64_t i, int64_t offset) {
        sum[static_cast<size_t>(i)] += load_element(x.desc.dtype, x.data, offset);
      });
    }
    for_each_element(out.desc, [&](int64_t i, int64_t offset) {
      store_element(out.desc.dtype, out.data, offset, sum[static_cast<size_t>(i)]);
    });
    return {};
  };
  return fn;
}

}  // namespace

void cases_custom(Cases& cases) {
  const auto fn = sum_of_inputs();
  cases.add<Custom>({fn}, {{.shape = {7}}}).note = "one input";
  cases.add<Custom>({fn}, {{.shape = {2, 3, 5}, .batch_dim = 0}, {.shape = {2, 3, 5}, .batch_dim = 0}}).note =
      "two inputs";
}

}  // namespace chiaro
