// timestep_embedding: the diffusion time as sines and cosines. Ho et al., "Denoising diffusion probabilistic models",
// arXiv:2006.11239, after Vaswani et al., arXiv:1706.03762.
//
// Frequencies and angles are f32 by definition, because the models were trained with them so: at t = 999 the rounding
// of the angle alone changes the sine by up to 3e-5. Only the sine itself is exact.
#pragma once

#include <vector>

#include "graph/declare.h"

namespace chiaro {

struct TimestepEmbedding {
  static constexpr std::string_view name = "timestep_embedding",
                                    formula = "y = [sin(x f), cos(x f)], f_i = max_period^(-i / (dim/2 - freq_shift))";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[N]"}};
  struct Attrs {
    int64_t dim = 320;             // of the result; where it is odd, the last element is 0
    bool flip_sin_to_cos = false;  // cosines first
    double freq_shift = 1;
    double max_period = 10000;
    template <class V>
    void visit(V& v) {
      v("dim", dim);
      v("flip_sin_to_cos", flip_sin_to_cos);
      v("freq_shift", freq_shift);
      v("max_period", max_period);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs& attrs, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);

  // The dim/2 frequencies, each rounded to f32 where training rounds: exponent, then power.
  static std::vector<float> frequencies(const Attrs& attrs);
};

inline constexpr OpCall<TimestepEmbedding> timestep_embedding{};
const OpDef& op_def_timestep_embedding();

}  // namespace chiaro
