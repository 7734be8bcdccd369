// A plan as text: what it costs first, then segment by segment what runs. The same plan gives the same text.
#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/print.h"

namespace chiaro {
namespace {

std::string amount(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

class PlanText {
 public:
  explicit PlanText(const ExecutionPlan& plan) : plan_(plan) {}

  std::string run() {
    heading();
    devices();
    moved();
    links();
    for (size_t i = 0; i < plan_.segments.size(); ++i) segment(i);
    return std::move(out_);
  }

 private:
  template <class... A>
  void add(fmt::format_string<A...> text, A&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<A>(args)...);
  }
  const std::string& name(int32_t device) const { return plan_.devices[static_cast<size_t>(device)]->traits().name; }
  static std::string size(int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

  void heading() {
    std::vector<std::string> names;
    for (const Device* device : plan_.devices) names.push_back(device->traits().name);
    add("plan on {}: {}", fmt::join(names, ", "), amount(static_cast<int64_t>(plan_.steps.size()), "step"));
    if (!plan_.copies.empty()) {
      add(" ({}, {})", amount(static_cast<int64_t>(plan_.steps.size() - plan_.copies.size()), "kernel"),
          plan_.copies.size() == 1 ? "1 copy" : fmt::format("{} copies", plan_.copies.size()));
    }
    add(" in {}, {:.3g} GFLOP", amount(static_cast<int64_t>(plan_.segments.size()), "segment"), plan_.flops / 1e9);
    add("; weights {}, copied per run {}\n", size(plan_.weight_bytes), size(plan_.copied_bytes()));
  }

  // How far the arena's values are above what lives at once at the fullest step.
  static std::string distance(const PlanArena& arena) {
    const int64_t values = arena.bytes - arena.scratch_bytes;
    if (arena.lower_bound_bytes == 0) return values == 0 ? "met" : "no values";
    if (values == arena.lower_bound_bytes) return "met";
    return fmt::format("+{:.1f} %",
                       100.0 * static_cast<double>(values) / static_cast<double>(arena.lower_bound_bytes) - 100.0);
  }

  void devices() {
    size_t width = 0;
    for (const Device* device : plan_.devices) width = std::max(width, device->traits().name.size());
    const std::vector<DeviceUse> uses = device_uses(plan_);
    for (size_t d = 0; d < plan_.devices.size(); ++d) {
      const PlanArena& arena = plan_.arenas[d];
      const DeviceUse& use = uses[d];
      add("device {:<{}}  {}, {}; peak {}: arena {} (scratch {}; lower bound {}: {}), weights {}, inputs {}\n",
          plan_.devices[d]->traits().name, width, amount(use.kernels, "kernel"),
          use.copies == 1 ? "1 copy" : fmt::format("{} copies", use.copies),
          size(arena.bytes + use.weight_bytes + use.input_bytes), size(arena.bytes), size(arena.scratch_bytes),
          size(arena.lower_bound_bytes), distance(arena), size(use.weight_bytes), size(use.input_bytes));
    }
  }

  void moved() {
    for (const MovedNodes& group : moved_nodes(plan_)) {
      const std::string& label = plan_.graph.nodes()[static_cast<size_t>(group.nodes.front())].label;
      add("moved  {} of {} to {}: {}", amount(static_cast<int64_t>(group.nodes.size()), "node"), group.op, group.device,
          group.why);
      if (!label.empty()) add("  # {}{}", label, group.nodes.size() > 1 ? ", ..." : "");
      out_ += "\n";
    }
  }

  void links() {
    for (const LinkUse& link : link_uses(plan_)) {
      add("copied {} -> {}: {} in {}", name(link.from), name(link.to), size(link.bytes),
          link.copies == 1 ? "1 copy" : fmt::format("{} copies", link.copies));
      if (link.back > 0) add(", {} back", link.back);
      add("{}\n", link.staged ? ", through host memory" : "");
    }
  }

  void segment(size_t index) {
    const PlanSegment& segment = plan_.segments[index];
    add("segment {} on {}, {}", index, name(segment.device), amount(segment.count, "step"));
    if (!segment.waits.empty()) add(", waits for {}", fmt::join(segment.waits, ", "));
    out_ += "\n";
    for (int32_t i = segment.first; i < segment.first + segment.count; ++i) {
      const PlanStep& step = plan_.steps[static_cast<size_t>(i)];
      add("{:5} ", i);
      if (step.copy >= 0) {
        copy(plan_.copies[static_cast<size_t>(step.copy)]);
      } else {
        kernel(step);
      }
    }
  }

  // Places on the step's own device leave its name out.
  std::string place(const MemRef& ref, int32_t own) const {
    const std::string device = ref.device == own || ref.region == Region::none ? "" : name(ref.device) + " ";
    switch (ref.region) {
      case Region::none: return "_";
      case Region::arena: return fmt::format("{}arena+{}", device, ref.offset);
      case Region::input: return fmt::format("{}input{}+{}", device, ref.index, ref.offset);
      case Region::weight: return fmt::format("{}weight{}+{}", device, ref.index, ref.offset);
      case Region::packed: return packed(device, ref.index);
    }
    return "?";
  }

  // The layout's name is left out: it depends on the machine's instructions.
  std::string packed(const std::string& device, int32_t index) const {
    const PlanPacked& form = plan_.packed[static_cast<size_t>(index)];
    return fmt::format("{}packed:weight{}+{}", device, form.weight, form.offset);
  }

  void copy(const PlanCopy& copy) {
    const ValueInfo& info = plan_.graph.info(copy.value);
    add("{:<24} {} = {} : bytes {} to {} of %{}, version {}{}\n", copy.back ? "copy back" : "copy",
        place(copy.to, copy.to.device), place(copy.from, copy.to.device), copy.begin, copy.end, copy.value.id,
        info.version, copy.staged ? ", through host memory" : "");
  }

  void kernel(const PlanStep& step) {
    const Node& node = plan_.graph.nodes()[static_cast<size_t>(step.node)];
    add("{:<24} {} =", step.kernel.kernel(), place(step.output, step.device));
    std::span<const MemRef> given(step.inputs);
    while (!given.empty() && given.back().region == Region::none) given = given.first(given.size() - 1);
    for (const MemRef& in : given) out_ += " " + place(in, step.device);
    add(" : {}{}{}", plan_.graph.info(node.output).desc.text(), node.moved.empty() ? "" : "  (moved)",
        node.on_copy ? "  (on a copy)" : "");
    add("{}\n", node.label.empty() ? "" : "  # " + node.label);
  }

  const ExecutionPlan& plan_;
  std::string out_;
};

}  // namespace

std::string ExecutionPlan::text() const {
  return PlanText(*this).run();
}

}  // namespace chiaro
