// What the readers of all families ask about the files that a user gave.
#pragma once

#include <initializer_list>
#include <utility>

#include "weights/model_source.h"

namespace chiaro::models {

// Whether a distilled model is named so: "turbo", in any case, in the names of the denoiser's own files, in what they
// say they are (their descriptions aside, which name other models too), or in the name of the diffusers folder that the
// denoiser belongs to. Folders that only hold a file say nothing: people sort theirs as they like.
bool says_turbo(const ModelSource& source, const ModelComponent& denoiser);

// The tensors of a folder's components that a part, by its flag, has taken the place of are no left-over tensors.
struct Replaced {
  const char *part, *component;
};
void ignore_replaced_components(const ModelSource& source, std::initializer_list<Replaced> places);

}  // namespace chiaro::models
