// Device profiles: GPUs as data files (src/gpu/profiles), so that any host can plan for them and the software GPU can
// hold kernels to their limits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "gpu/traits.h"

namespace chiaro::gpu {

struct Profile {
  std::string name;     // "apple7"
  std::string comment;  // where the figures come from
  Traits traits;
};

// Errors: bad_file naming the field. Every field must be there, and no other.
Result<Profile> parse_profile(std::string_view json, std::string_view where);

// The profiles that are built in, by name. Errors: usage, with the names.
Result<Profile> find_profile(std::string_view name);
std::vector<std::string> profile_names();

// Generated: the files of src/gpu/profiles.
struct ProfileText {
  std::string_view name, json;
};
std::vector<ProfileText> profile_texts();

}  // namespace chiaro::gpu
