// Metal devices: metal0, metal1, ... on a Mac, and softmetal:PROFILE elsewhere, where the same host code runs on
// softmetal. Checked against that model of Metal; no Apple GPU has seen it yet (docs/metal.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "backend/isolated/spec.h"
#include "backend/metal/metal_features.h"
#include "core/log.h"
#include "ops/gpu_kernel.h"

namespace chiaro {

inline constexpr std::string_view kMetalPrefix = "metal", kSoftMetalPrefix = "softmetal:";
// Of the environment; read when a Metal device is made, where MetalDeviceOptions has no features of its own.
inline constexpr const char* kMetalFeaturesVariable = "CHIARO_METAL_FEATURES";

// Of softmetal. `on`: inside kernels, and order between launches. `all`: also what the CPU writes while the GPU works,
// which copies every buffer that is bound.
enum class SoftMetalChecks : uint8_t { off, on, all };

struct MetalDeviceOptions {
  std::string name = "metal0";
  std::optional<std::string> features = {};      // "+simd_reduce,-bf16"; nothing: the environment's
  bool private_storage = false;                  // buffers that the host does not see, reached through staging
  SoftMetalChecks checks = SoftMetalChecks::on;  // softmetal: off is several times as fast
  int64_t budget_bytes = 0;                      // 0: what the system recommends
  int64_t largest_buffer_bytes = 0;              // 0: the device's
  double command_buffer_seconds = 0;             // 0: a part of the watchdog's time
  double watchdog_seconds = 0;                   // softmetal: it stops launches that take longer; 0: the profile's
  int threads = 0;                               // softmetal's; 0: one per core
  std::shared_ptr<Log> log = {};                 // null: silent
  std::vector<std::string> missing_ops = {};     // ops it has no kernel for
  std::vector<MaskEntry> mask = {};              // calls it refuses, whatever its kernels say
  std::optional<std::vector<GpuMetalText>> texts = {};  // tests alter them; nothing: gpu_metal_texts()
};

// What a Metal device says of itself and how it is used, for people.
struct MetalDeviceFacts {
  std::string gpu;      // Metal's name for it: "Apple M1"
  std::string profile;  // the profile its speed is taken from
  std::vector<MetalFeatureState> features;
  bool unified_memory = true, private_storage = false, residency_set = false;
  int64_t budget_bytes = 0, largest_buffer_bytes = 0;
};

class MetalDeviceBase : public Device {
 public:
  virtual const MetalDeviceFacts& facts() const = 0;
};

// Whether the text begins like the name of a Metal device: metal0, metal1,storage=private, softmetal:apple7.
bool is_metal_spec(std::string_view text);
// metalN or softmetal:PROFILE, then options: storage=private|shared, checks=off|on|all (softmetal), no=OP[:DTYPE]+...,
// largest=SIZE and budget=SIZE (of 1024: 64K, 16M, 2G), watchdog=TIME (softmetal; us, ms, s). Errors: usage, naming the
// profiles or the option.
Result<MetalDeviceOptions> parse_metal_spec(std::string_view text);

// Errors: usage for a device that there is not, or for features that are not understood; out_of_memory where Metal
// makes no queue.
Result<std::unique_ptr<Device>> make_metal_device(MetalDeviceOptions options);

// Names of the Metal devices of this machine: "metal0". softmetal's are among them only where SOFTMETAL_DEVICES of the
// environment says what the machine has.
std::vector<std::string> metal_device_names();

}  // namespace chiaro
