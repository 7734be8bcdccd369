// A complete model of a few hundred kilobytes in a diffusers folder: real formats and architecture, seeded random
// weights, narrow networks, the shipped model's tokenizer. Pictures of 16x16 pixels take milliseconds.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"
#include "core/tensor.h"

namespace chiaro::testing {

// The components in the order of the pipeline.
inline const std::vector<std::string> kToyComponents = {"text_encoder", "unet", "vae"};

struct ToyTensor {
  std::string name;  // canonical
  Shape shape;
  std::vector<float> values;
};
// Changes one component's tensors before they are written: scaled, dropped, added.
using ToyEdit = std::function<void(const std::string& component, std::vector<ToyTensor>& tensors)>;

struct ToyOptions {
  ToyEdit edit;
  int64_t unet_context = 16;  // what the UNet reads of a token; the text encoder gives 16
  int64_t sample_size = 8;    // latents; a latent is 2 pixels wide
  std::string prediction = "epsilon";
};

// Writes the model to a folder `name` for tests and returns its path. Ends the program where that fails.
std::string write_toy_model(const std::string& name, const ToyOptions& options = {});

// Multiplies one tensor, or fails the test where there is none of that name.
ToyEdit scale_tensors(const std::string& component, std::vector<std::string> names, float factor);

LoadOptions toy_options(const std::string& path, int threads = 2);
// The Session, or a failed expectation and null.
std::shared_ptr<Session> open_toy(const LoadOptions& options);

// 16x16 pixels, 3 steps of euler_a, guided.
GenerateRequest toy_request();

}  // namespace chiaro::testing
