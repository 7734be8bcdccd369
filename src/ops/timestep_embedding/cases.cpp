#include "ops/conformance/cases.h"
#include "ops/timestep_embedding/op.h"

namespace chiaro {

void cases_timestep_embedding(Cases& cases) {
  const auto times = [](double high, bool integer) {
    return std::vector<CaseInput>{
        {.shape = {3}, .low = 0, .high = high, .dtype = DType::f32, .integer = integer, .batch_dim = 0}};
  };
  cases.add<TimestepEmbedding>({.dim = 320, .flip_sin_to_cos = true, .freq_shift = 0}, times(999, true));
  cases.add<TimestepEmbedding>({.dim = 128, .flip_sin_to_cos = false, .freq_shift = 1}, times(999, false));
  cases.add<TimestepEmbedding>({.dim = 7, .flip_sin_to_cos = true, .freq_shift = 0.5, .max_period = 100},
                               times(1, false));
  cases.add<TimestepEmbedding>({.dim = 2, .freq_shift = 0}, times(50, true));
}

}  // namespace chiaro
