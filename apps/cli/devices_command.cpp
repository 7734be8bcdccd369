// `chiaro devices`: what can run models here.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "backend/isolated/spec.h"
#include "backend/metal/metal_device.h"
#include "commands.h"
#include "console.h"
#include "exit_code.h"
#include "ops/catalogue.h"
#include "ops/cpu_blocks/simd_math.h"
#include "runtime/engine.h"

namespace chiaro::cli {
namespace {

std::string kib(long bytes) {
  return bytes > 0 ? fmt::format("{} KiB", bytes / 1024) : std::string("unknown");
}

// L1 data, L2 and L3, as the system reports them.
std::string cache_text([[maybe_unused]] int64_t l2_bytes) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  return fmt::format("L1 {}, L2 {}, L3 {}", kib(::sysconf(_SC_LEVEL1_DCACHE_SIZE)), kib(static_cast<long>(l2_bytes)),
                     kib(::sysconf(_SC_LEVEL3_CACHE_SIZE)));
#else
  return fmt::format("L2 {}", kib(static_cast<long>(l2_bytes)));
#endif
}

const char* yes_or_no(bool yes) {
  return yes ? "yes" : "no";
}

// What the GPU says of itself, what was forced by CHIARO_METAL_FEATURES, and what kernels are planned with.
void print_metal(const MetalDeviceFacts& facts, const gpu::Traits& gpu) {
  std::printf("  gpu       %s, figures of the profile %s\n", facts.gpu.c_str(), facts.profile.c_str());
  std::printf("  memory    %s, %s storage; budget %lld MiB, largest buffer %lld MiB, residency set: %s\n",
              facts.unified_memory ? "shared with the host" : "its own", facts.private_storage ? "private" : "shared",
              static_cast<long long>(facts.budget_bytes >> 20),
              static_cast<long long>(facts.largest_buffer_bytes >> 20), yes_or_no(facts.residency_set));
  std::printf("  groups    %d threads, %lld KiB\n", gpu.max_threads,
              static_cast<long long>(gpu.threadgroup_bytes / 1024));
  std::printf("  features  %-12s %-11s %-7s %s\n", "", "advertised", "forced", "used");
  for (const MetalFeatureState& feature : facts.features) {
    std::printf("            %-12s %-11s %-7s %s\n", std::string(feature.name).c_str(), yes_or_no(feature.advertised),
                feature.forced ? (*feature.forced ? "on" : "off") : "-", yes_or_no(feature.used()));
  }
}

void print_device(const Device& device) {
  const DeviceTraits& traits = device.traits();
  int ops = 0, with_kernels = 0;
  size_t kernels = 0;
  for (const OpDef* op : op_catalogue()) {
    if (op->kind == OpKind::view) continue;
    ++ops;
    kernels += device.kernels(op->name).size();
    with_kernels += device.kernels(op->name).empty() ? 0 : 1;
  }
  std::printf("%s\n", traits.name.c_str());
  std::printf("  kind      %s\n", traits.kind.c_str());
  if (const auto* metal = dynamic_cast<const MetalDeviceBase*>(&device)) {
    print_metal(metal->facts(), traits.gpu);
  } else {
    std::printf("  threads   %d\n", traits.threads);
    std::printf("  caches    %s\n", cache_text(traits.l2_bytes).c_str());
  }
  if (traits.kind == "cpu") std::printf("  vectors   %s\n", std::string(simd_target_name()).c_str());
  std::printf("  kernels   %zu, for %d of %d computing ops (see: chiaro ops list)\n", kernels, with_kernels, ops);
}

// The machine's own, and what was asked for; its own with the options that were asked for.
std::vector<std::string> devices_to_show(const std::vector<std::string>& lists) {
  std::vector<std::string> wanted;
  for (const std::string& list : lists) {
    for (std::string& spec : split_devices(list)) wanted.push_back(std::move(spec));
  }
  std::vector<std::string> all = metal_device_names();
  std::erase_if(all, [&](const std::string& own) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& spec) {
      return std::string_view(spec).substr(0, spec.find(',')) == own;
    });
  });
  all.insert(all.end(), std::make_move_iterator(wanted.begin()), std::make_move_iterator(wanted.end()));
  return all;
}

}  // namespace

int run_devices(const DevicesOptions& options) {
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.devices = devices_to_show(options.devices);
  auto engine = Engine::create(std::move(engine_options));
  if (!engine.ok()) {
    Console().error(engine.error());
    return exit_code(engine.error(), Phase::working);
  }
  for (const Device* device : (*engine)->devices()) print_device(*device);
  return kOk;
}

}  // namespace chiaro::cli
