#include "model_stages.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/clip/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "pipeline/step_graph.h"

namespace chiaro::testing {
namespace {

// Every weight that is asked for, of that shape and without data.
class ShapesAlone final : public nn::WeightSource {
 public:
  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override {
    TensorData tensor;
    tensor.name = name;
    tensor.desc = dense(DType::f16, shape);
    return std::make_shared<const TensorData>(std::move(tensor));
  }
  TensorDataPtr take_scale(std::string_view) override { return nullptr; }
};

void add_stage(std::vector<Stage>& stages, std::string name, Result<Graph> graph) {
  EXPECT_TRUE(graph.ok()) << name << ": " << graph.error().format();
  if (graph.ok()) stages.push_back({std::move(name), std::move(*graph)});
}

}  // namespace

const Assembly* shipped_model() {
  static const std::unique_ptr<Assembly> model = []() -> std::unique_ptr<Assembly> {
    auto loaded = assemble(std::string(CHIARO_SOURCE_DIR) + "/models/tiny", *Log::silent());
    EXPECT_TRUE(loaded.ok()) << loaded.error().format();
    return loaded.ok() ? std::move(*loaded) : nullptr;
  }();
  return model.get();
}

std::vector<Stage> shipped_stages(int64_t side) {
  std::vector<Stage> stages;
  const Assembly* model = shipped_model();
  if (model == nullptr) return stages;
  add_stage(stages, "encode", models::build_clip_text(model->clip, *model->text_weights, {.batch = 2}));
  StepRequest step;
  step.height = step.width = side;
  add_stage(stages, "step", build_step(*model, step));
  DecodeRequest decode;
  decode.height = decode.width = side;
  add_stage(stages, "decode", build_decode(*model, decode));
  return stages;
}

std::vector<Stage> sd15_stages(int64_t side) {
  std::vector<Stage> stages;
  ShapesAlone weights;
  models::UnetRequest step;
  step.batch = 2;
  step.height = step.width = side;
  add_stage(stages, "step", models::build_unet(models::sd1_unet_config(), weights, step));
  models::VaeRequest decode;
  decode.height = decode.width = side;
  add_stage(stages, "decode", models::build_vae_decoder(models::sd1_vae_config(), weights, decode));
  return stages;
}

PortBytes stage_inputs(const ExecutionPlan& plan) {
  PortBytes inputs = named_inputs(plan);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PlanPort& port = plan.inputs[i];
    for (int64_t at = 0; at < port.desc.count(); ++at) {
      const double value = std::abs(load_element(port.desc.dtype, inputs[i].data(), at));
      // Tokens, times and the scalars of a sampler are not negative.
      if (port.name == "ids") store_element(port.desc.dtype, inputs[i].data(), at, std::floor(1000 * value));
      if (port.name == "timestep" || port.name == "scalars") {
        store_element(port.desc.dtype, inputs[i].data(), at, 0.5 + value);
      }
    }
  }
  return inputs;
}

}  // namespace chiaro::testing
