// Which devices there are and what runs where, as users write it in flags and in LoadOptions.
//
//   devices   "cpu,isolated:a,budget=64M"                  in order of preference, each with its options behind it
//   backend   "te=cpu,diffusion=isolated:a&cpu,vae=cpu"    modules: te, diffusion, vae; & splits a module's layers
//             "all=isolated:a" or "isolated:a"             the modules that are not named
//             "weight:*.norm?.*=cpu"                       weights by name, with * and ?: their ops follow them
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace chiaro {

// Errors: usage, each with what may stand there.
Result<Placement> parse_placement(std::string_view backend);

struct DeviceChoice {
  std::vector<std::string> specs;  // for EngineOptions::devices
  Placement placement;
};
// Without `devices`: the CPU, and behind it what `backend` names. Errors: usage, also where `backend` names a device
// that `devices` leaves out ("cpu" is always there).
Result<DeviceChoice> choose_devices(std::string_view devices, std::string_view backend);

}  // namespace chiaro
