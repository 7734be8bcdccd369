// The picture of a plan: a lane per device, the copies between them, and what the signs mean.
#include <algorithm>
#include <span>

#include "plan/print_svg.h"

namespace chiaro {
namespace svg {
namespace {

constexpr std::array<Family, 6> kFamilies{{
    {"products", "#4c78a8", {"conv2d", "matmul"}},
    {"attention", "#9467bd", {"attention", "rope_apply"}},
    {"norms and sums", "#f2a04a", {"group_norm", "layer_norm", "rms_norm", "softmax", "mean", "sum"}},
    {"element by element",
     "#69b06a",
     {"add", "sub", "mul", "div", "silu", "gelu", "quick_gelu", "sigmoid", "tanh", "scale", "geglu", "swiglu"}},
    {"moves", "#e0605e", {"contiguous", "cast", "concat", "get_rows", "upsample_nearest"}},
    {"others", "#8a8f98", {}},
}};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

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

double round_step(double least, double base) {
  double power = 1;
  while (power * base <= least) power *= base;
  for (const double factor : {1.0, 2.0, 4.0, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0}) {
    if (factor < base && power * factor >= least && !(base == 10 && (factor == 4 || factor == 8)))
      return power * factor;
  }
  return power * base;
}

namespace {

constexpr double kTop = 84, kLaneGap = 62;

class Picture {
 public:
  explicit Picture(const ExecutionPlan& plan) : plan_(plan), lives_(storage_lives(plan)), moved_(moved_nodes(plan)) {
    const auto count = static_cast<double>(plan.devices.size());
    const double height = count < 2 ? 470 : std::max(140.0, 560 / count);
    double y = count < 2 ? kTop + 42 : kTop + 66;
    for (size_t d = 0; d < plan.devices.size(); ++d) {
      lanes_.emplace_back(plan, lives_, static_cast<int32_t>(d), y, height);
      y += height + kLaneGap;
    }
    foot_ = y - kLaneGap;
  }

  std::string draw() {
    const double lists = static_cast<double>((plan_.passes.size() + 3) / 4 + moved_rows());
    const double height = foot_ + 96 + 18 * lists + (moved_.empty() ? 0 : 24);
    to_.add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\" fill=\"#222\">\n"
        "<defs><pattern id=\"s\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#e6e6ea\"/><rect width=\"2\" "
        "height=\"6\" fill=\"#b9bac2\"/></pattern></defs>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        kWidth, height);
    title();
    for (const Lane& lane : lanes_) lane.draw(to_);
    steps_axis();
    copies();
    legend();
    const double below = moved(foot_ + 50);
    passes(below);
    to_.add("</svg>\n");
    return to_.take();
  }

 private:
  static constexpr size_t kMostMoved = 8;  // reasons listed
  size_t moved_rows() const { return std::min(moved_.size(), kMostMoved + 1); }

  void title() {
    std::string devices;
    for (const Device* device : plan_.devices) devices += (devices.empty() ? "" : ", ") + device->traits().name;
    int64_t scratch = 0;
    for (const PlanArena& arena : plan_.arenas) scratch += arena.scratch_bytes;
    to_.add("<text x=\"{}\" y=\"28\" font-size=\"17\" font-weight=\"bold\">Memory of a plan on {}</text>\n", kPlotX,
            escaped(devices));
    const auto size = [](int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
    to_.add(
        "<text x=\"{}\" y=\"48\" fill=\"#555\">{} steps, {:.3g} GFLOP; arena {} (of these scratch {}), lower bound "
        "{}, weights {}",
        kPlotX, plan_.steps.size(), plan_.flops / 1e9, size(plan_.arena_bytes()), size(scratch),
        size(plan_.lower_bound_bytes()), size(plan_.weight_bytes));
    if (plan_.devices.size() > 1) {
      to_.add("; {} segments; {}, {} per run", plan_.segments.size(),
              plan_.copies.size() == 1 ? "1 copy" : fmt::format("{} copies", plan_.copies.size()),
              size(plan_.copied_bytes()));
    }
    to_.add("</text>\n");
  }

  void steps_axis() {
    const auto steps = static_cast<double>(std::max<size_t>(1, plan_.steps.size()));
    const double count = round_step(steps / 14, 10);
    for (double at = 0; at < steps; at += count) {
      to_.add("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{:.0f}</text>\n",
              lanes_.front().x(at + 0.5), foot_ + 16, at);
    }
    to_.add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#555\">step</text>\n", kPlotX - 8, foot_ + 16);
  }

  // The middle of the bytes in their lane; inputs and weights lie outside the arenas, at the lane's lower edge.
  double place(const MemRef& ref, int64_t bytes) const {
    const Lane& lane = lanes_[static_cast<size_t>(ref.device)];
    if (ref.region != Region::arena) return lane.bottom();
    return lane.y(static_cast<double>(ref.offset) + static_cast<double>(bytes) / 2);
  }

  // Copies with space for their size before the next arrow, by step.
  std::vector<bool> copies_with_room() const {
    constexpr double kWords = 70;  // pixels
    std::vector<bool> roomy(plan_.steps.size(), false);
    double next = kPlotX + kPlotW;
    for (size_t i = plan_.steps.size(); i-- > 0;) {
      if (plan_.steps[i].copy < 0) continue;
      const double at = lanes_.front().x(static_cast<double>(i) + 0.5);
      roomy[i] = next - at > kWords;
      next = at;
    }
    return roomy;
  }

  void copies() {
    if (lanes_.size() < 2) return;
    const std::vector<bool> roomy = copies_with_room();
    const double wide = plan_.copies.size() > 30 ? 0.8 : 1.4;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].copy < 0) continue;
      const PlanCopy& copy = plan_.copies[static_cast<size_t>(plan_.steps[i].copy)];
      const int64_t bytes = copy.end - copy.begin;
      const double at = lanes_.front().x(static_cast<double>(i) + 0.5);
      const double from = place(copy.from, bytes), to = place(copy.to, bytes), way = to > from ? 1 : -1;
      const std::string_view colour = copy.back ? kBackColour : kCopyColour;
      const std::string text = bytes_text(static_cast<double>(bytes));
      to_.add("<g><title>step {}: {} {} to {}, {}{}</title>", i, copy.back ? "copy back from" : "copy from",
              escaped(plan_.devices[static_cast<size_t>(copy.from.device)]->traits().name),
              escaped(plan_.devices[static_cast<size_t>(copy.to.device)]->traits().name), text,
              copy.staged ? ", through host memory" : "");
      to_.add(
          "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"2.5\" fill=\"{2}\"/><line x1=\"{0:.1f}\" x2=\"{0:.1f}\" "
          "y1=\"{1:.1f}\" y2=\"{3:.1f}\" stroke=\"{2}\" stroke-width=\"{5}\"{4}/>",
          at, from, colour, to - 6 * way, copy.staged ? " stroke-dasharray=\"5,3\"" : "", wide);
      to_.add("<path d=\"M{:.1f} {:.1f}l-4 {:.1f}h8z\" fill=\"{}\"/>", at, to, -8 * way, colour);
      if (roomy[i]) {  // beside the arrow, in the gap above the lower lane
        const int32_t lower = std::max(copy.from.device, copy.to.device);
        to_.add("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>", at + 5,
                lanes_[static_cast<size_t>(lower)].top() - 44, colour, text);
      }
      to_.add("</g>\n");
    }
  }

  void legend() {
    double at = kPlotX;
    constexpr double kRow = 62;
    const auto words = [&](std::string_view text, double indent) {
      to_.add("<text x=\"{:.0f}\" y=\"{}\">{}</text>\n", at + indent, kRow + 10, text);
      at += indent + 19 + 6.7 * static_cast<double>(text.size());
    };
    const auto box = [&](std::string_view fill, std::string_view text) {
      to_.add("<rect x=\"{:.0f}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>", at, kRow, fill);
      words(text, 17);
    };
    for (const Family& family : families()) box(family.colour, family.name);
    box("url(#s)", "scratch");
    to_.add("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"#222\" stroke-width=\"1.5\"/>", at, at + 16,
            kRow + 6);
    words("bytes live", 21);
    to_.add(
        "<rect x=\"{0}\" y=\"{1}\" width=\"16\" height=\"12\" fill=\"#8a8f98\"/><line x1=\"{2}\" x2=\"{2}\" "
        "y1=\"{1}\" y2=\"{3}\" stroke=\"#fff\" stroke-width=\"1.5\" stroke-dasharray=\"3,2\"/>",
        at, kRow, at + 8, kRow + 12);
    words("written in place", 21);
    if (lanes_.size() > 1) legend_of_several();
  }

  void legend_of_several() {
    double at = kPlotX;
    constexpr double kRow = 82;
    const auto words = [&](std::string_view text, double indent) {
      to_.add("<text x=\"{:.0f}\" y=\"{}\">{}</text>\n", at + indent, kRow + 10, text);
      at += indent + 19 + 6.7 * static_cast<double>(text.size());
    };
    const auto arrow = [&](std::string_view colour, std::string_view dash, std::string_view text) {
      to_.add(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"1.5\"{4}/><path "
          "d=\"M{5} {2}l-8 -4v8z\" fill=\"{3}\"/>",
          at, at + 18, kRow + 6, colour, dash, at + 24);
      words(text, 29);
    };
    to_.add("<rect x=\"{}\" y=\"{}\" width=\"20\" height=\"8\" fill=\"#37474f\"/>", at, kRow + 2);
    words("the device works: a segment", 25);
    arrow(kCopyColour, "", "copy");
    arrow(kCopyColour, " stroke-dasharray=\"5,3\"", "through host memory");
    arrow(kBackColour, "", "copy back");
    to_.add("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"#b39ddb\"/>", at, kRow);
    words("brought by a copy", 17);
    to_.add("<path d=\"M{} {}l-5 -9h10z\" fill=\"{}\"/>", at + 6, kRow + 11, kMovedColour);
    words("moved here (why: below)", 17);
  }

  // The reasons; returns where the next list begins.
  double moved(double top) {
    if (moved_.empty()) return top;
    to_.add("<text x=\"{}\" y=\"{}\" font-weight=\"bold\" fill=\"{}\">Moved nodes</text>\n", kPlotX, top, kMovedColour);
    for (size_t i = 0; i < moved_rows(); ++i) {
      const MovedNodes& group = moved_[i];
      const std::string text =
          i == kMostMoved ? fmt::format("{} more reasons", moved_.size() - kMostMoved)
                          : fmt::format("{} {} to {}: {}", group.nodes.size(), group.op, group.device, group.why);
      to_.add("<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", kPlotX, top + 20 + 18 * static_cast<double>(i), escaped(text));
    }
    return top + 24 + 18 * static_cast<double>(moved_rows());
  }

  void passes(double top) {
    double total = 0;
    for (const PassReport& pass : plan_.passes) total += pass.seconds;
    to_.add("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">Passes, {:.2f} ms (and how many changes)</text>\n", kPlotX,
            top, total * 1e3);
    for (size_t i = 0; i < plan_.passes.size(); ++i) {
      const PassReport& pass = plan_.passes[i];
      to_.add("<text x=\"{:.0f}\" y=\"{:.0f}\">{}. {}: {:.2f} ms{}</text>\n",
              kPlotX + kPlotW / 4 * static_cast<double>(i % 4), top + 20 + 18 * static_cast<double>(i / 4), i + 1,
              escaped(pass.pass), pass.seconds * 1e3, pass.changes > 0 ? fmt::format(" ({})", pass.changes) : "");
    }
  }

  const ExecutionPlan& plan_;
  std::vector<StorageLife> lives_;
  std::vector<MovedNodes> moved_;
  std::vector<Lane> lanes_;
  double foot_ = 0;  // the lower edge of the lowest lane
  Drawing to_;
};

}  // namespace
}  // namespace svg

std::string plan_svg(const ExecutionPlan& plan) {
  return svg::Picture(plan).draw();
}

}  // namespace chiaro
