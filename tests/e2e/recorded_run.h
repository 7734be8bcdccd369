// One request's pictures with all their latents, for comparing runs bit by bit: rounding to 8 bits would hide much.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "shipped_model.h"

namespace chiaro::testing {

struct RecordedPicture {
  std::vector<float> latents;  // of every step, one after the other
  Picture picture;
  bool operator==(const RecordedPicture& other) const {
    return latents == other.latents && picture.rgb == other.picture.rgb && picture.width == other.picture.width &&
           picture.height == other.picture.height && picture.seed == other.picture.seed;
  }
};

inline std::vector<RecordedPicture> record(Session& session, const GenerateRequest& request) {
  std::vector<RecordedPicture> all;
  size_t group = 0, next = 0;  // where the group at hand begins, and where the next one will
  Callbacks callbacks;
  callbacks.on_latent = [&](const LatentView& view) {
    const auto pictures = static_cast<size_t>(view.pictures);
    const auto one = static_cast<size_t>(view.channels * view.height * view.width);
    if (view.step == 0) {
      group = next;
      next += pictures;
      all.resize(next);
    }
    for (size_t i = 0; i < pictures; ++i) {
      auto& latents = all[group + i].latents;
      latents.insert(latents.end(), view.data + i * one, view.data + (i + 1) * one);
    }
  };
  auto pictures = pictures_of(session, request, callbacks);
  EXPECT_EQ(pictures.size(), static_cast<size_t>(request.batch_count));
  EXPECT_EQ(all.size(), pictures.size());
  all.resize(pictures.size());
  for (size_t i = 0; i < pictures.size(); ++i) all[i].picture = std::move(pictures[i]);
  return all;
}

// A picture of 96x64 pixels in four steps.
inline GenerateRequest small_request(const std::string& sampler) {
  GenerateRequest request;
  request.prompt = "a red apple on a blue background";
  request.negative_prompt = "a cat";
  request.width = 96;
  request.height = 64;
  request.steps = 4;
  request.cfg_scale = 4;
  request.seed = 77;
  request.sampling_method = sampler;
  return request;
}

}  // namespace chiaro::testing
