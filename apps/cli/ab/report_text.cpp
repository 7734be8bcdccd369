// A comparison as text for the terminal, as Markdown and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ab/report.h"

namespace chiaro::ab {
namespace {

using Json = nlohmann::ordered_json;

std::vector<int> variants(const Report& report) {
  std::vector<int> all{kA};
  if (report.options.with_b) all.push_back(kB);
  if (report.options.with_again) all.push_back(kAgain);
  return all;
}

const CommandText& command_of(const Report& report, int variant) {
  return report.options.commands[variant == kB ? 1 : 0];
}

std::string memory_text(int64_t bytes) {
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
}

// One row of the table: variant, median, least, most, processor time, memory.
std::vector<std::string> row_of(const Report& report, int variant) {
  const Summary summary = summarise(compared(report, variant));
  const double cpu = summarise(report.measured.values(variant, &Run::cpu_seconds)).median;
  return {std::string(variant_name(variant)), value_text(report, summary.median),
          value_text(report, summary.least),  value_text(report, summary.greatest),
          fmt::format("{:.3f} s", cpu),       memory_text(report.measured.most_bytes(variant))};
}

const std::vector<std::string>& heads() {
  static const std::vector<std::string> kHeads{"", "median", "least", "most", "processor", "most memory"};
  return kHeads;
}

std::string conditions(const Report& report) {
  const Machine& m = report.machine;
  std::string text = fmt::format("{} repeats in turned order, {} warm-up runs of each apart; {}; {}, {} cores",
                                 report.options.repeats, report.options.warmup, m.date, m.system, m.cores);
  if (m.load_before >= 0) text += fmt::format(", load {:.1f} before and {:.1f} after", m.load_before, m.load_after);
  return text + ".";
}

// What compares is said where it is not the time that passed.
std::string clock_note(const Report& report) {
  if (report.clock == Clock::cpu) return "Compared: processor time (user and system).";
  if (report.clock == Clock::figure) return "Compared: the figure that the commands print, " + report.options.figure;
  return "";
}

std::string shell_mark(const CommandText& command) {
  return command.text + (command.output_flag.empty() ? "" : " " + command.output_flag + " {out}");
}

Json ratio_json(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", ratio->ratio},
          {"low", ratio->low},
          {"high", ratio->high},
          {"pairs", ratio->pairs},
          {"inside_its_own_spread", !ratio->tells()},
          {"floor", ratio->floor()}};
}

Json outputs_json(const Report& report) {
  if (!report.outputs) return nullptr;
  const Outputs& o = *report.outputs;
  Json json{{"identical", o.identical}};
  if (o.difference) {
    // An infinite PSNR (the same pixels in other bytes) has no number in JSON.
    json["psnr"] = o.difference->pixels == 0 ? Json(nullptr) : Json(o.difference->psnr);
    json["ssim"] = o.difference->ssim;
    json["largest_difference"] = o.difference->largest;
    json["differing_pixels"] = o.difference->pixels;
  }
  if (!o.trouble.empty()) json["trouble"] = o.trouble;
  return json;
}

Json variant_json(const Report& report, int variant) {
  const Summary summary = summarise(compared(report, variant));
  const Picture& picture = report.measured.pictures[static_cast<size_t>(variant)];
  Json json{{"name", variant_name(variant)}, {"command", shell_mark(command_of(report, variant))},
            {"median", summary.median},      {"least", summary.least},
            {"most", summary.greatest},      {"most_bytes", report.measured.most_bytes(variant)}};
  json["same_bytes_every_time"] = picture.path.empty() ? Json(nullptr) : Json(picture.steady);
  return json;
}

Json run_json(const Report& report, const Run& run) {
  Json json{{"of", variant_name(run.variant)}, {"repeat", run.repeat},
            {"position", run.position},        {"warmup", run.warmup},
            {"seconds", run.seconds},          {"cpu_seconds", run.cpu_seconds},
            {"peak_bytes", run.peak_bytes}};
  if (report.clock == Clock::figure) json["figure"] = run.figure;
  return json;
}

// Text inside a code span of a Markdown table or list.
std::string code(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? ' ' : c;
  // A span may be fenced by more backquotes than it holds.
  size_t longest = 0, now = 0;
  for (const char c : out) longest = std::max(longest, now = c == '`' ? now + 1 : 0);
  const std::string fence(longest + 1, '`'), blank = longest > 0 ? " " : "";
  return fence + blank + out + blank + fence;
}

}  // namespace

std::string to_text(const Report& report) {
  std::vector<std::vector<std::string>> rows{heads()};
  std::string text;
  for (const int variant : variants(report)) {
    if (variant != kAgain)
      text += fmt::format("{}  {}\n", variant_name(variant), shell_mark(command_of(report, variant)));
    rows.push_back(row_of(report, variant));
  }
  std::vector<size_t> widths(heads().size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += "\n";
  }
  for (const std::string& line : {clock_note(report), report.b ? verdict(report) : "", noise_sentence(report),
                                  outputs_sentence(report), conditions(report)}) {
    if (!line.empty()) text += line + "\n";
  }
  return text;
}

std::string to_markdown(const Report& report, const std::string& plot, const std::string& pictures) {
  std::string text = "# A against " + std::string(report.options.with_b ? "B" : "A") + "\n\n";
  for (const int variant : variants(report)) {
    if (variant == kAgain) continue;
    text += fmt::format("- {}: {}\n", variant_name(variant), code(shell_mark(command_of(report, variant))));
  }
  text += "\n**" + verdict(report) + "**\n\n";
  if (report.b && report.again) text += noise_sentence(report) + "\n\n";
  for (const std::string& line : {clock_note(report), outputs_sentence(report)}) {
    if (!line.empty()) text += line + "\n\n";
  }
  std::string rule = "|";
  for (const std::string& head : heads()) {
    text += "| " + head + " ";
    rule += "---|";
  }
  text += "|\n" + rule + "\n";
  for (const int variant : variants(report)) {
    for (const std::string& cell : row_of(report, variant)) text += "| " + cell + " ";
    text += "|\n";
  }
  if (!plot.empty()) text += "\n![every run](" + plot + ")\n";
  if (!pictures.empty() && report.outputs && report.outputs->trouble.empty()) {
    const std::string other = report.options.with_b ? "b" : "again";
    text +=
        fmt::format("\n![A]({0}a.png) ![{1}]({0}{2}.png)\n", pictures, report.options.with_b ? "B" : "A again", other);
  }
  return text + "\n" + conditions(report) + "\n";
}

std::string to_json(const Report& report) {
  Json json{{"verdict", verdict(report)},
            {"compared", report.clock == Clock::wall  ? "wall_seconds"
                         : report.clock == Clock::cpu ? "cpu_seconds"
                                                      : "figure"},
            {"b_over_a", ratio_json(report.b)},
            {"a_over_a", ratio_json(report.again)},
            {"outputs", outputs_json(report)}};
  Json all = Json::array(), runs = Json::array();
  for (const int variant : variants(report)) all.push_back(variant_json(report, variant));
  for (const Run& run : report.measured.runs) runs.push_back(run_json(report, run));
  json["variants"] = all;
  json["runs"] = runs;
  json["repeats"] = report.options.repeats;
  json["warmup"] = report.options.warmup;
  json["figure"] = report.options.figure.empty() ? Json(nullptr) : Json(report.options.figure);
  json["seed"] = report.seed;
  const Machine& m = report.machine;
  json["machine"] = {{"system", m.system},
                     {"date", m.date},
                     {"cores", m.cores},
                     {"load_before", m.load_before},
                     {"load_after", m.load_after}};
  constexpr int kIndent = 1;
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace chiaro::ab
