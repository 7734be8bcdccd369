// The picture of a plan. One coordinate system in pixels; nothing is scripted, titles are the browser's tooltips.
#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "plan/print.h"

namespace chiaro {
namespace {

constexpr double kWidth = 1280, kPlotX = 96, kPlotY = 84, kPlotW = 1148, kPlotH = 470;

struct Family {
  std::string_view name, colour;
  std::array<std::string_view, 12> ops;
};

constexpr std::array<Family, 6> kFamilies{{
    {"products", "#4c78a8", {"conv2d", "matmul"}},
    {"attention", "#9467bd", {"attention", "rope_apply"}},
    {"norms and sums", "#f2a04a", {"group_norm", "layer_norm", "rms_norm", "softmax", "mean", "sum"}},
    {"element by element",
     "#69b06a",
     {"add", "sub", "mul", "div", "silu", "gelu", "quick_gelu", "sigmoid", "scale", "geglu", "swiglu"}},
    {"copies and moves", "#e0605e", {"contiguous", "cast", "concat", "get_rows", "upsample_nearest"}},
    {"others", "#8a8f98", {}},
}};

const Family& family_of(std::string_view op) {
  for (const Family& family : kFamilies) {
    if (std::find(family.ops.begin(), family.ops.end(), op) != family.ops.end()) return family;
  }
  return kFamilies.back();
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : bytes >= 100 ? 1 : 2, kUnits[unit]);
}

// A round distance between marks: at least `least`, a round factor times a power of `base` (10 or 1024).
double round_step(double least, double base) {
  double power = 1;
  while (power * base <= least) power *= base;
  for (const double factor : {1.0, 2.0, 4.0, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0}) {
    if (factor < base && power * factor >= least && !(base == 10 && (factor == 4 || factor == 8)))
      return power * factor;
  }
  return power * base;
}

class Picture {
 public:
  explicit Picture(const ExecutionPlan& plan)
      : plan_(plan),
        lives_(storage_lives(plan)),
        steps_(std::max<double>(1, static_cast<double>(plan.steps.size()))),
        bytes_(std::max<double>(1, static_cast<double>(plan.arena_bytes))) {}

  std::string draw() {
    const double height = kPlotY + kPlotH + 96 + 18 * static_cast<double>((plan_.passes.size() + 3) / 4);
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\" fill=\"#222\">\n"
        "<defs><pattern id=\"s\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#e6e6ea\"/><rect width=\"2\" "
        "height=\"6\" fill=\"#b9bac2\"/></pattern></defs>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        kWidth, height);
    title();
    axes();
    for (const PlanStep& step : plan_.steps) scratch(step, static_cast<double>(&step - plan_.steps.data()));
    for (const StorageLife& life : lives_) storage(life);
    live_bytes();
    lines();
    legend();
    passes();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <class... A>
  void add(fmt::format_string<A...> text, A&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<A>(args)...);
  }
  double x(double step) const { return kPlotX + kPlotW * step / steps_; }
  double y(double offset) const { return kPlotY + kPlotH * (1 - offset / bytes_); }

  void title() {
    std::string devices;
    for (const Device* device : plan_.devices) devices += (devices.empty() ? "" : ", ") + device->traits().name;
    add("<text x=\"{}\" y=\"28\" font-size=\"17\" font-weight=\"bold\">Memory of a plan on {}</text>\n", kPlotX,
        escaped(devices));
    add("<text x=\"{}\" y=\"48\" fill=\"#555\">{} steps, {:.3g} GFLOP; arena {} (of these scratch {}), lower bound {}, "
        "weights {}</text>\n",
        kPlotX, plan_.steps.size(), plan_.flops / 1e9, bytes_text(static_cast<double>(plan_.arena_bytes)),
        bytes_text(static_cast<double>(plan_.scratch_bytes)), bytes_text(static_cast<double>(plan_.lower_bound_bytes)),
        bytes_text(static_cast<double>(plan_.weight_bytes)));
  }

  void axes() {
    add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#fafafc\" stroke=\"#999\"/>\n", kPlotX, kPlotY,
        kPlotW, kPlotH);
    const double by = round_step(bytes_ / 8, 1024), count = round_step(steps_ / 14, 10);
    for (double at = 0; at <= bytes_; at += by) {
      add("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e3e3e8\"/>"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#555\">{5}</text>\n",
          kPlotX, kPlotX + kPlotW, y(at), kPlotX - 8, y(at) + 4, bytes_text(at));
    }
    for (double at = 0; at < steps_; at += count) {
      add("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{:.0f}</text>\n", x(at + 0.5),
          kPlotY + kPlotH + 16, at);
    }
    add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#555\">step</text>\n", kPlotX - 8, kPlotY + kPlotH + 16);
  }

  void scratch(const PlanStep& step, double index) {
    const auto bytes = static_cast<double>(step.kernel.scratch_bytes());
    if (bytes <= 0) return;
    const Node& node = plan_.graph.nodes()[static_cast<size_t>(step.node)];
    const double top = y(static_cast<double>(step.scratch_offset) + bytes);
    add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"url(#s)\"><title>step {}: scratch "
        "of "
        "{} ({})&#10;{}</title></rect>\n",
        x(index), top, x(1) - x(0), y(static_cast<double>(step.scratch_offset)) - top, static_cast<int64_t>(index),
        node.op->name, bytes_text(bytes), escaped(node.label));
  }

  void storage(const StorageLife& life) {
    if (life.bytes == 0) return;
    const PlanStep& step = plan_.steps[static_cast<size_t>(life.first)];
    const Node& node = plan_.graph.nodes()[static_cast<size_t>(step.node)];
    const auto offset = static_cast<double>(life.offset), bytes = static_cast<double>(life.bytes);
    const double left = x(life.first), right = std::min(x(life.last + 1.0), kPlotX + kPlotW);
    const double top = y(offset + bytes), tall = y(offset) - top;
    std::string written;
    for (const int32_t at : life.writes) {
      const Node& writer = plan_.graph.nodes()[static_cast<size_t>(plan_.steps[static_cast<size_t>(at)].node)];
      written += fmt::format("&#10;step {}: {} in place", at, writer.op->name);
    }
    const bool out = life.last >= static_cast<int32_t>(plan_.steps.size());
    add("<g><title>{} {}&#10;{}&#10;steps {} to {}, arena+{}, {}{}</title>", node.op->name,
        plan_.graph.info(node.output).desc.text(), escaped(node.label), life.first,
        out ? std::string("the end: an output") : std::to_string(life.last), life.offset, bytes_text(bytes), written);
    add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#fff\" "
        "stroke-width=\"{}\"/>",
        left, top, right - left, tall, family_of(node.op->name).colour, tall > 3 && right - left > 3 ? 0.8 : 0.2);
    for (const int32_t at : life.writes) {
      add("<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.2f}\" y2=\"{2:.2f}\" stroke=\"#fff\" stroke-width=\"1.5\" "
          "stroke-dasharray=\"3,2\"/>",
          x(at + 0.5), top, top + tall);
    }
    if (tall >= 15 && right - left >= 8.0 * static_cast<double>(node.op->name.size())) {
      add("<text x=\"{:.2f}\" y=\"{:.2f}\" fill=\"#fff\" font-size=\"11\">{}</text>", left + 4, top + 13,
          node.op->name);
    }
    out_ += "</g>\n";
  }

  // The sum of all storages that live at a step: what no placement can go below. Storages that take over an operand's
  // memory count once.
  void live_bytes() {
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
    out_ += "<polyline fill=\"none\" stroke=\"#222\" stroke-width=\"1.3\" points=\"";
    double now = 0;
    for (size_t i = 0; i < count; ++i) {
      now += change[i];
      add("{:.1f},{:.1f} {:.1f},{:.1f} ", x(static_cast<double>(i)), y(now), x(static_cast<double>(i) + 1), y(now));
    }
    out_ += "\"/>\n";
  }

  void lines() {
    const auto line = [&](double at, const char* colour, const char* dash, const std::string& text, double text_x) {
      add("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" stroke-width=\"1.5\" "
          "stroke-dasharray=\"{4}\"/><text x=\"{5}\" y=\"{6:.1f}\" text-anchor=\"end\" fill=\"{3}\" stroke=\"#fff\" "
          "stroke-width=\"3\" paint-order=\"stroke\">{7}</text>\n",
          kPlotX, kPlotX + kPlotW, y(at), colour, dash, text_x, y(at) - 4, text);
    };
    const auto values = static_cast<double>(plan_.arena_bytes - plan_.scratch_bytes);
    const auto bound = static_cast<double>(plan_.lower_bound_bytes);
    line(values, "#c2185b", "none", "peak of values " + bytes_text(values), kPlotX + kPlotW);
    line(bound, "#00796b", "6,4", "lower bound " + bytes_text(bound), kPlotX + kPlotW - 190);
  }

  void legend() {
    double at = kPlotX;
    const double row = 62;
    const auto entry = [&](std::string_view fill, std::string_view text) {
      add("<rect x=\"{:.0f}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.0f}\" y=\"{}\">{}</text>\n",
          at, row, fill, at + 17, row + 10, text);
      at += 38 + 6.7 * static_cast<double>(text.size());
    };
    for (const Family& family : kFamilies) entry(family.colour, family.name);
    entry("url(#s)", "scratch");
    add("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"#222\" stroke-width=\"1.5\"/><text x=\"{3}\" "
        "y=\"{4}\">bytes live</text>\n",
        at, at + 16, row + 6, at + 21, row + 10);
    at += 100;
    add("<rect x=\"{0}\" y=\"{1}\" width=\"16\" height=\"12\" fill=\"#8a8f98\"/><line x1=\"{2}\" x2=\"{2}\" y1=\"{1}\" "
        "y2=\"{3}\" stroke=\"#fff\" stroke-width=\"1.5\" stroke-dasharray=\"3,2\"/><text x=\"{4}\" y=\"{5}\">written "
        "in "
        "place</text>\n",
        at, row, at + 8, row + 12, at + 21, row + 10);
  }

  void passes() {
    double total = 0;
    for (const PassReport& pass : plan_.passes) total += pass.seconds;
    const double top = kPlotY + kPlotH + 50;
    add("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">Passes, {:.2f} ms (what they changed; kernels and memory: "
        "steps)</text>\n",
        kPlotX, top, total * 1e3);
    for (size_t i = 0; i < plan_.passes.size(); ++i) {
      const PassReport& pass = plan_.passes[i];
      add("<text x=\"{:.0f}\" y=\"{:.0f}\">{}. {}: {:.2f} ms{}</text>\n",
          kPlotX + kPlotW / 4 * static_cast<double>(i % 4), top + 20 + 18 * static_cast<double>(i / 4), i + 1,
          escaped(pass.pass), pass.seconds * 1e3, pass.changes > 0 ? fmt::format(" ({})", pass.changes) : "");
    }
  }

  const ExecutionPlan& plan_;
  std::vector<StorageLife> lives_;
  double steps_, bytes_;
  std::string out_;
};

}  // namespace

std::string plan_svg(const ExecutionPlan& plan) {
  return Picture(plan).draw();
}

}  // namespace chiaro
