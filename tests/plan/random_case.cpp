// Devices, masks, pins and options of random cases, and cases as text.
#include "random_case.h"

#include <fmt/format.h>

#include <charconv>
#include <random>

#include "graph/host_functions.h"
#include "graph/text.h"
#include "ops/catalogue.h"
#include "random_graph_edit.h"

namespace chiaro::testing {
namespace {

class DeviceMaker {
 public:
  explicit DeviceMaker(uint64_t seed) : random_(seed) {}

  void run(RandomCase& c) {
    const int isolated = 1 + below(3);
    const int cpu_at = one_in(2) ? isolated : below(isolated + 1);
    for (int i = 0; i <= isolated; ++i) {
      IsolatedSpec spec;
      spec.name = i == cpu_at ? "cpu" : fmt::format("isolated:{}", static_cast<char>('a' + i));
      c.devices.push_back(spec);
    }
    for (IsolatedSpec& spec : c.devices) {
      if (spec.name != "cpu") fill(spec, c);
    }
    if (one_in(3)) {
      for (const OpDef* op : op_catalogue()) {
        // `contiguous` and `write` are what a device is expected to have: every detour needs them somewhere.
        if (one_in(6) && op->kind != OpKind::view && op->name != "contiguous" && op->name != "write") {
          c.disabled.push_back(std::string(op->name) + "@cpu");
        }
      }
    }
    options(c);
    pins(c);
    c.serial = one_in(2);
    c.threaded = !c.serial || one_in(4);
    if (c.threaded && one_in(2)) {
      for (IsolatedSpec& spec : c.devices) {
        if (spec.name != "cpu") spec.copy_delay = std::chrono::microseconds(20 + below(200));
      }
    }
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

  void fill(IsolatedSpec& spec, const RandomCase& c) {
    mask(spec);
    for (const IsolatedSpec& other : c.devices) {
      if (other.name != spec.name && one_in(5)) spec.addresses.push_back(other.name);
    }
    if (one_in(12)) spec.budget_bytes = int64_t{64} << below(10);
    if (one_in(40)) spec.fail_at = 1 + below(6);
    spec.seed = random_() % 1000;
  }

  void mask(IsolatedSpec& spec) {
    if (one_in(6)) return;
    if (one_in(10)) spec.mask.push_back({"*", {}, true});
    if (one_in(10)) spec.mask.push_back({"*", DType::f16, false});
    const int of_ten = 1 + below(7);
    for (const OpDef* op : op_catalogue()) {
      if (op->kind == OpKind::view || below(10) >= of_ten) continue;
      MaskEntry entry{std::string(op->name), {}, false};
      if (one_in(4)) entry.strided = true;
      if (one_in(6)) entry.dtype = one_in(2) ? DType::f32 : DType::bf16;
      spec.mask.push_back(entry);
    }
  }

  void options(RandomCase& c) {
    PlanOptions& o = c.options;
    o.fuse = !one_in(3);
    o.reuse = !one_in(5);
    o.arena = one_in(2) ? ArenaFit::greedy_by_size : one_in(2) ? ArenaFit::first_fit : ArenaFit::best_fit;
    for (const char* name : {"canonicalise", "fold_constants", "pack"}) {
      if (one_in(8)) o.skip.emplace_back(name);
    }
    for (const std::string_view rewrite : fuse_rewrites()) {
      if (one_in(8)) o.skip.emplace_back(rewrite);
    }
    for (const char* module : {"te", "diffusion", "vae", "all"}) {
      if (!one_in(3)) continue;
      std::vector<std::string>& names = o.placement.modules[module];
      names.push_back(any_device(c));
      if (one_in(2)) names.push_back(any_device(c));
      if (names.size() == 2 && names[0] == names[1]) names.pop_back();
    }
    for (int i = below(4) == 0 ? 1 + below(3) : 0; i > 0; --i) {
      o.placement.weights.emplace_back(fmt::format("w{}*", below(8)), any_device(c));
    }
  }

  const std::string& any_device(const RandomCase& c) {
    return c.devices[static_cast<size_t>(below(static_cast<int>(c.devices.size())))].name;
  }

  void pins(RandomCase& c) {
    if (!one_in(3)) return;
    GraphEdit edit(c.graph);
    for (size_t i = 0; i < c.graph.nodes().size(); ++i) {
      if (c.graph.nodes()[i].op->kind != OpKind::view && one_in(6)) edit.pin[i] = any_device(c);
    }
    c.graph = edited(c.graph, edit).value();
  }

  std::mt19937_64 random_;
};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string options_text(const RandomCase& c) {
  const PlanOptions& o = c.options;
  std::string text = fmt::format("fuse={:d} reuse={:d} arena={:d} serial={:d} threaded={:d}", o.fuse, o.reuse,
                                 static_cast<int>(o.arena), c.serial, c.threaded);
  for (const std::string& name : o.skip) text += " skip=" + name;
  for (const auto& [module, devices] : o.placement.modules) {
    text += " module=" + module;
    for (const std::string& device : devices) text += "&" + device;
  }
  for (const auto& [pattern, device] : o.placement.weights) text += " weight=" + pattern + "&" + device;
  for (const std::string& op : c.disabled) text += " disabled=" + op;
  return text;
}

Status read_option(RandomCase& c, std::string_view option) {
  const size_t equals = std::min(option.find('='), option.size());
  const std::string_view key = option.substr(0, equals), value = option.substr(std::min(equals + 1, option.size()));
  const std::vector<std::string_view> parts = split(value, '&');
  PlanOptions& o = c.options;
  if (key == "fuse") {
    o.fuse = value == "1";
  } else if (key == "reuse") {
    o.reuse = value == "1";
  } else if (key == "serial") {
    c.serial = value == "1";
  } else if (key == "threaded") {
    c.threaded = value == "1";
  } else if (key == "arena") {
    o.arena = static_cast<ArenaFit>(value == "1" ? 1 : value == "2" ? 2 : 0);
  } else if (key == "skip") {
    o.skip.emplace_back(value);
  } else if (key == "disabled") {
    c.disabled.emplace_back(value);
  } else if (key == "module" && parts.size() > 1) {
    o.placement.modules[std::string(parts[0])].assign(parts.begin() + 1, parts.end());
  } else if (key == "weight" && parts.size() == 2) {
    o.placement.weights.emplace_back(parts[0], parts[1]);
  } else {
    return Error{ErrorCode::bad_file, "a case has the option " + std::string(option), "", "", ""};
  }
  return {};
}

Status read_comment(RandomCase& c, std::string_view line) {
  if (line.starts_with("# devices")) {
    for (const std::string_view device : split(line.substr(9), ' ')) {
      IsolatedSpec spec;
      spec.name = "cpu";
      if (device != "cpu") {
        CHIARO_ASSIGN(spec, parse_isolated_spec(device));
      }
      c.devices.push_back(std::move(spec));
    }
  }
  if (line.starts_with("# options")) {
    for (const std::string_view option : split(line.substr(9), ' ')) CHIARO_TRY(read_option(c, option));
  }
  return {};
}

}  // namespace

RandomCase random_case(uint64_t seed) {
  RandomCase c;
  c.graph = random_device_graph(seed);
  DeviceMaker(seed ^ 0x9E3779B97F4A7C15U).run(c);
  return c;
}

std::string spec_text(const IsolatedSpec& spec) {
  std::string text = spec.name;
  for (size_t i = 0; i < spec.mask.size(); ++i) text += (i == 0 ? ",no=" : "+") + spec.mask[i].text();
  for (size_t i = 0; i < spec.addresses.size(); ++i) text += (i == 0 ? ",addresses=" : "+") + spec.addresses[i];
  if (spec.budget_bytes > 0) text += fmt::format(",budget={}", spec.budget_bytes);
  if (spec.copy_delay.count() > 0) text += fmt::format(",delay={}us", spec.copy_delay.count());
  if (spec.fail_at > 0) text += fmt::format(",fail={}", spec.fail_at);
  return spec.name == "cpu" ? text : text + fmt::format(",seed={}", spec.seed);
}

EngineOptions engine_options(const RandomCase& c) {
  EngineOptions options;
  options.threads = 1;
  options.allocator = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>(), true);  // poisons
  options.disabled_ops = c.disabled;
  for (const IsolatedSpec& spec : c.devices) options.devices.push_back(spec_text(spec));
  return options;
}

std::string case_text(const RandomCase& c) {
  std::string text = "# devices";
  for (const IsolatedSpec& spec : c.devices) text += " " + spec_text(spec);
  return text + "\n# options " + options_text(c) + "\n" + print_graph(c.graph);
}

Result<RandomCase> parse_case(std::string_view text) {
  RandomCase c;
  for (const std::string_view line : split(text, '\n')) CHIARO_TRY(read_comment(c, line));
  GraphNames names;
  names.op = find_op;
  names.function = find_host_function;
  names.data = [](StorageKind, const std::string& name, const TensorDesc& desc) -> Result<TensorDataPtr> {
    return named_tensor(name, desc.dtype, desc.shape);
  };
  CHIARO_ASSIGN(c.graph, parse_graph(text, names));
  return c;
}

std::vector<float> named_values(std::string_view name, int64_t count) {
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char ch : name) hash = (hash ^ static_cast<unsigned char>(ch)) * 1099511628211U;
  std::mt19937_64 random(hash);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 2048) - 1024) / 1024.0F;
  return values;
}

TensorDataPtr named_tensor(const std::string& name, DType dtype, const Shape& shape) {
  return make_tensor(name, dtype, shape, named_values(name, element_count(shape)));
}

}  // namespace chiaro::testing
