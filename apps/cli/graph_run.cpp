#include "graph_run.h"

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "graph/host_functions.h"
#include "ops/catalogue.h"
#include "pipeline/placement.h"

namespace chiaro::cli {
namespace {

// Mixes all bits of x (the finaliser of SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

uint64_t key_of(uint64_t seed, const std::string& name) {
  uint64_t key = mixed(seed + 0x9E3779B97F4A7C15U);
  for (const char c : name) key = mixed(key + static_cast<unsigned char>(c) + 1);
  return key;
}

struct OwnedTensor {
  TensorData tensor;
  std::vector<std::byte> bytes;
};

}  // namespace

Result<TensorDataPtr> seeded_tensor(uint64_t seed, const std::string& name, const TensorDesc& desc) {
  if (is_block(desc.dtype) || !desc.contiguous()) {
    return Error{ErrorCode::unsupported, "no seeded values for " + desc.text(),
                 "they are made for dense tensors of plain types", "", name};
  }
  auto owned = std::make_shared<OwnedTensor>();
  owned->bytes.resize(static_cast<size_t>(desc.dense_bytes()));
  const uint64_t key = key_of(seed, name);
  for (int64_t i = 0; i < desc.count(); ++i) {
    const uint64_t bits = mixed(key + 0x9E3779B97F4A7C15U * (static_cast<uint64_t>(i) + 1));
    const double unit = static_cast<double>(bits >> 40) * 0x1p-24;  // 24 bits: exact in f32
    store_element(desc.dtype, owned->bytes.data(), i, is_float(desc.dtype) ? 2 * unit - 1 : unit < 0.5 ? 0 : 1);
  }
  owned->tensor = {name, desc, owned->bytes.data(), nullptr};
  return TensorDataPtr(owned, &owned->tensor);
}

Result<Graph> read_graph(const std::string& path, const DataLookup& data) {
  CHIARO_ASSIGN(const auto file, MappedFile::open(path_from_utf8(path)));
  const auto bytes = file->bytes();
  auto graph = parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                           GraphNames{.op = find_op, .function = find_host_function, .data = data});
  if (!graph.ok()) return std::move(graph).error().at(path);
  return graph;
}

Result<Planner> make_planner(const DeviceOptions& device, const std::vector<std::string>& skip) {
  CHIARO_ASSIGN(DeviceChoice choice, choose_devices(device.device_list(), device.placement()));
  EngineOptions options;
  options.threads = device.threads;
  options.disabled_ops = device.disabled_ops;
  options.devices = std::move(choice.specs);
  Planner planner;
  CHIARO_ASSIGN(planner.engine, Engine::create(std::move(options)));
  planner.options.fuse = !device.no_fuse.value_or(false);
  planner.options.placement = std::move(choice.placement);
  planner.options.skip = skip;
  return planner;
}

}  // namespace chiaro::cli
