// One device's lane in the picture of a plan.
#include <algorithm>

#include <fmt/ranges.h>

#include "plan/print_svg.h"

namespace chiaro::svg {

Lane::Lane(const ExecutionPlan& plan, std::span<const StorageLife> lives, int32_t device, double y, double height)
    : plan_(plan),
      device_(device),
      y_(y),
      height_(height),
      steps_(std::max<double>(1, static_cast<double>(plan.steps.size()))),
      bytes_(std::max<double>(1, static_cast<double>(plan.arenas[static_cast<size_t>(device)].bytes))) {
  std::copy_if(lives.begin(), lives.end(), std::back_inserter(lives_),
               [&](const StorageLife& life) { return life.device == device; });
}

void Lane::draw(Drawing& to) const {
  axes(to);
  segments(to);
  title(to);
  for (size_t i = 0; i < plan_.steps.size(); ++i) scratch(to, i);
  for (const StorageLife& life : lives_) storage(to, life);
  live_bytes(to);
  lines(to);
  moved(to);
}

// "in place" steps and makers are kernels or copies.
std::string_view Lane::op_at(int32_t step) const {
  const PlanStep& at = plan_.steps[static_cast<size_t>(step)];
  if (at.copy >= 0) return plan_.copies[static_cast<size_t>(at.copy)].back ? "copy back" : "copy";
  return plan_.graph.nodes()[static_cast<size_t>(at.node)].op->name;
}

// What the device holds before the first step, by name where there are few.
std::string Lane::staged_names() const {
  constexpr size_t kMostNames = 4;
  std::vector<std::string> weights, names;
  for (const Storage& storage : plan_.graph.storages()) {
    if (storage.kind == StorageKind::weight || storage.kind == StorageKind::constant) weights.push_back(storage.name);
  }
  for (const PlanStaged& s : plan_.staged) {
    if (s.device != device_) continue;
    const auto index = static_cast<size_t>(s.index);
    names.push_back(s.region == Region::weight ? weights[index] : plan_.inputs[index].name);
  }
  for (const PlanPacked& form : plan_.packed) {
    if (form.device == device_) names.push_back(weights[static_cast<size_t>(form.weight)]);
  }
  if (names.empty() || names.size() > kMostNames) return {};
  return fmt::format(" ({})", fmt::join(names, ", "));
}

void Lane::title(Drawing& to) const {
  const PlanArena& arena = plan_.arenas[static_cast<size_t>(device_)];
  const DeviceUse use = device_uses(plan_)[static_cast<size_t>(device_)];
  const auto size = [](int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  to.add(
      "<text x=\"{}\" y=\"{}\"><tspan font-size=\"14\" font-weight=\"bold\">{}</tspan><tspan dx=\"12\" fill=\"#555\">"
      "{} kernel{}, {}; arena {} (scratch {}), weights and inputs {}{}</tspan></text>\n",
      kPlotX, y_ - 24, escaped(plan_.devices[static_cast<size_t>(device_)]->traits().name), use.kernels,
      use.kernels == 1 ? "" : "s", use.copies == 1 ? "1 copy" : fmt::format("{} copies", use.copies), size(arena.bytes),
      size(arena.scratch_bytes), size(use.weight_bytes + use.input_bytes), escaped(staged_names()));
  const auto mark = [&](double from_right, std::string_view colour, const std::string& text) {
    to.add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{}\">{}</text>\n", kPlotX + kPlotW - from_right, y_ - 24,
           colour, text);
  };
  mark(180, kPeakColour, "&#8212; peak of values " + size(arena.bytes - arena.scratch_bytes));
  mark(0, kBoundColour, "- - lower bound " + size(arena.lower_bound_bytes));
}

void Lane::axes(Drawing& to) const {
  to.add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#fafafc\" stroke=\"#999\"/>\n", kPlotX, y_, kPlotW,
         height_);
  const double by = round_step(bytes_ / std::max(2.0, height_ / 55), 1024);
  for (double at = 0; at <= bytes_; at += by) {
    to.add(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e3e3e8\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#555\">{5}</text>\n",
        kPlotX, kPlotX + kPlotW, y(at), kPlotX - 8, y(at) + 4, bytes_text(at));
  }
}

// A bar above the plot for every stretch in which this device works.
void Lane::segments(Drawing& to) const {
  if (plan_.devices.size() < 2) return;
  to.add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"8\" fill=\"#ececf0\"/>\n", kPlotX, y_ - 14, kPlotW);
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    const PlanSegment& segment = plan_.segments[i];
    if (segment.device != device_) continue;
    to.add(
        "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"8\" fill=\"#37474f\" stroke=\"#fff\" "
        "stroke-width=\"0.6\"><title>segment {}: steps {} to {}, waits for [{}]</title></rect>\n",
        x(segment.first), y_ - 14, x(segment.first + segment.count) - x(segment.first), i, segment.first,
        segment.first + segment.count - 1, fmt::join(segment.waits, ", "));
  }
}

void Lane::scratch(Drawing& to, size_t index) const {
  const PlanStep& step = plan_.steps[index];
  const auto bytes = step.copy >= 0 ? 0.0 : static_cast<double>(step.kernel.scratch_bytes());
  if (bytes <= 0 || step.device != device_) return;
  const Node& node = plan_.graph.nodes()[static_cast<size_t>(step.node)];
  const double top = y(static_cast<double>(step.scratch_offset) + bytes);
  to.add(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"url(#s)\"><title>step {}: scratch "
      "of {} ({})&#10;{}</title></rect>\n",
      x(static_cast<double>(index)), top, x(1) - x(0), y(static_cast<double>(step.scratch_offset)) - top, index,
      node.op->name, bytes_text(bytes), escaped(node.label));
}

// What a copy brings: the op that made this version, or the own name of a weight or an input.
std::string Lane::brought(const StorageLife& life) const {
  const PlanStep& step = plan_.steps[static_cast<size_t>(life.first)];
  if (step.copy < 0) return {};
  const ValueInfo& info = plan_.graph.info(plan_.copies[static_cast<size_t>(step.copy)].value);
  if (info.producer < 0) return "copy of " + plan_.graph.storage(life.storage).name;
  return fmt::format("copy of {}", plan_.graph.nodes()[static_cast<size_t>(info.producer)].op->name);
}

void Lane::storage(Drawing& to, const StorageLife& life) const {
  if (life.bytes == 0) return;
  const PlanStep& step = plan_.steps[static_cast<size_t>(life.first)];
  const auto offset = static_cast<double>(life.offset), bytes = static_cast<double>(life.bytes);
  const double left = x(life.first), right = std::min(x(life.last + 1.0), kPlotX + kPlotW);
  const double top = y(offset + bytes), tall = y(offset) - top;
  std::string what, label, written;
  if (step.copy >= 0) {
    what = brought(life);
  } else {
    const Node& node = plan_.graph.nodes()[static_cast<size_t>(step.node)];
    what = fmt::format("{} {}", node.op->name, plan_.graph.info(node.output).desc.text());
    label = node.label;
  }
  for (const int32_t at : life.writes) written += fmt::format("&#10;step {}: {} in place", at, op_at(at));
  const bool out = life.last >= static_cast<int32_t>(plan_.steps.size());
  to.add("<g><title>{}&#10;{}&#10;steps {} to {}, arena+{}, {}{}</title>", escaped(what), escaped(label), life.first,
         out ? std::string("the end: an output") : std::to_string(life.last), life.offset, bytes_text(bytes), written);
  to.add(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#fff\" "
      "stroke-width=\"{}\"/>",
      left, top, right - left, tall, life.image ? "#b39ddb" : family_of(op_at(life.first)).colour,
      tall > 3 && right - left > 3 ? 0.8 : 0.2);
  storage_words(to, life, left, right, top, tall);
  to.add("</g>\n");
}

void Lane::storage_words(Drawing& to, const StorageLife& life, double left, double right, double top,
                         double tall) const {
  const auto fits = [&](std::string_view text, double from, double until) {
    return tall >= 15 && until - from >= 6.5 * static_cast<double>(text.size()) + 6;
  };
  double until = right;
  for (auto at = life.writes.rbegin(); at != life.writes.rend(); ++at) {
    const double middle = x(*at + 0.5);
    to.add(
        "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.2f}\" y2=\"{2:.2f}\" stroke=\"#fff\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"3,2\"/>",
        middle, top, top + tall);
    const std::string_view op = op_at(*at);
    if (fits(op, middle, until)) {
      to.add("<text x=\"{:.2f}\" y=\"{:.2f}\" fill=\"#fff\" font-size=\"11\">{}</text>", middle + 4, top + 13, op);
    }
    until = middle;
  }
  const std::string name = life.image ? brought(life) : std::string(op_at(life.first));
  if (fits(name, left, until)) {
    to.add("<text x=\"{:.2f}\" y=\"{:.2f}\" fill=\"#fff\" font-size=\"11\">{}</text>", left + 4, top + 13,
           escaped(name));
  }
}

// The sum of all storages that live at a step: what no placement can go below. Storages that take over an operand's
// memory count once.
void Lane::live_bytes(Drawing& to) const {
  const auto count = plan_.steps.size();
  std::vector<double> change(count + 2, 0);
  for (const StorageLife& life : lives_) {
    change[static_cast<size_t>(life.first)] += static_cast<double>(life.bytes);
    change[std::min(static_cast<size_t>(life.last) + 1, count + 1)] -= static_cast<double>(life.bytes);
    for (const StorageLife& heir : lives_) {
      if (heir.first > life.last) break;  // lives are in the order of their first steps
      if (heir.first == life.last && heir.offset == life.offset && heir.first > life.first && heir.bytes > 0) {
        change[static_cast<size_t>(life.last)] -= static_cast<double>(life.bytes);
        change[std::min(static_cast<size_t>(life.last) + 1, count + 1)] += static_cast<double>(life.bytes);
      }
    }
  }
  to.add("<polyline fill=\"none\" stroke=\"#222\" stroke-width=\"1.3\" points=\"");
  double now = 0;
  for (size_t i = 0; i < count; ++i) {
    now += change[i];
    to.add("{:.1f},{:.1f} {:.1f},{:.1f} ", x(static_cast<double>(i)), y(now), x(static_cast<double>(i) + 1), y(now));
  }
  to.add("\"/>\n");
}

void Lane::lines(Drawing& to) const {
  const auto line = [&](int64_t at, std::string_view colour, const char* dash) {
    to.add(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"{4}\"/>\n",
        kPlotX, kPlotX + kPlotW, y(static_cast<double>(at)), colour, dash);
  };
  const PlanArena& arena = plan_.arenas[static_cast<size_t>(device_)];
  if (arena.bytes == 0) return;
  line(arena.bytes - arena.scratch_bytes, kPeakColour, "none");
  line(arena.lower_bound_bytes, kBoundColour, "6,4");
}

// A mark under the bar of segments for every node that was moved to this device.
void Lane::moved(Drawing& to) const {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const PlanStep& step = plan_.steps[i];
    if (step.device != device_ || step.copy >= 0) continue;
    const Node& node = plan_.graph.nodes()[static_cast<size_t>(step.node)];
    if (node.moved.empty()) continue;
    const double at = x(static_cast<double>(i) + 0.5);
    to.add(
        "<path d=\"M{:.1f} {:.1f}l-5 -9h10z\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"0.8\"><title>step {}: {} "
        "was moved here: {}&#10;{}</title></path>\n",
        at, y_ + 1, kMovedColour, i, node.op->name, escaped(node.moved), escaped(node.label));
  }
}

}  // namespace chiaro::svg
