// How fast whole models run: a picture's stages (text encoder, denoiser, decoder) of one or several models, in turn,
// and what the machine could do at most, measured in the same run.
//
// Thread rule: one thread; nothing else should run meanwhile. Memory: all models are held at once, so that a round
// meets one and the same machine.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"

namespace chiaro {

struct ModelBenchOptions {
  std::vector<LoadOptions> models;  // threads: of the first
  int width = 0, height = 0;        // pixels; 0: the model's
  int steps = 1;                    // without guidance: one run of the denoiser each
  int rounds = 5;
  bool profile = true;  // one more run of each model, kernel by kernel
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(int done, int all)> on_progress = {};  // pictures
};

// The kernels of one op in one stage of one picture.
struct BenchedOp {
  Stage stage = Stage::sample;
  std::string op;
  int64_t launches = 0;
  double seconds = 0, flops = 0;
  double bytes = 0;         // the least that they must read and write
  double roof_seconds = 0;  // of each launch the later of its bytes at the copy bandwidth and its products at the peak
};

struct BenchedStage {
  Stage stage = Stage::sample;
  std::vector<double> seconds;                    // of every round; of the denoiser, per step
  double flops = 0, bytes = 0, roof_seconds = 0;  // likewise; 0 without a profile
  double median() const;
};

struct BenchedModel {
  std::string model;
  double load_seconds = 0, first_seconds = 0;  // of opening the files; of the first picture, which packs weights
  std::vector<BenchedStage> stages;            // encode, sample, decode
  std::vector<BenchedOp> ops;                  // the longest first
  int64_t peak_bytes = 0, weight_bytes = 0;    // as GenerateResult has them
};

struct ModelBench {
  double copy_gbs = 0, peak_gflops = 0;  // the ceilings: the best of measurements before every round
  int threads = 1, width = 0, height = 0;
  std::vector<BenchedModel> models;
  // Tables: stages (the median's ratio to the first model's), then the ops that took longest, `top` a model.
  std::string text(int top = 10) const;
  std::string json() const;
};

// Errors: those of Session::load and Session::generate; usage (no model).
Result<ModelBench> bench_models(const ModelBenchOptions& options);

}  // namespace chiaro
