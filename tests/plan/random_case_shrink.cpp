#include "random_case_shrink.h"

#include <cctype>
#include <fstream>
#include <sstream>

#include "random_graph_edit.h"

namespace chiaro::testing {
namespace {

class Shrinker {
 public:
  Shrinker(RandomCase c, const std::function<bool(const RandomCase&)>& fails, int attempts)
      : case_(std::move(c)), fails_(fails), attempts_(attempts) {}

  RandomCase run() {
    while (attempts_ > 0 && (outputs() | earlier_outputs() | nodes() | pins() | masks() | devices() | options())) {
    }
    without_unread_sources();
    return std::move(case_);
  }

 private:
  bool better(RandomCase smaller) {
    if (attempts_-- <= 0 || !fails_(smaller)) return false;
    case_ = std::move(smaller);
    return true;
  }

  bool better(const GraphEdit& edit) {
    auto graph = edited(case_.graph, edit);
    if (!graph.ok()) return false;
    RandomCase smaller = case_;
    smaller.graph = std::move(*graph);
    return better(std::move(smaller));
  }

  bool outputs() {
    bool any = false;
    for (size_t i = case_.graph.outputs().size(); i-- > 0 && case_.graph.outputs().size() > 1;) {
      GraphEdit edit(case_.graph);
      edit.outputs[i] = false;
      any |= better(edit);
    }
    return any;
  }

  // What the last node reads instead of what it makes.
  bool earlier_outputs() {
    bool any = false;
    for (size_t i = 0; i < case_.graph.outputs().size(); ++i) {
      const int32_t producer = case_.graph.info(case_.graph.outputs()[i].value).producer;
      if (producer < 0) continue;
      const std::vector<Value> inputs = case_.graph.nodes()[static_cast<size_t>(producer)].inputs;
      for (const Value v : inputs) {
        GraphEdit edit(case_.graph);
        edit.output_values[i] = v;
        if (v.valid() && case_.graph.info(v).producer >= 0 && better(edit)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  // Inputs and weights that nobody reads, left out of the text.
  void without_unread_sources() {
    std::istringstream lines(case_text(case_));
    std::string text, line;
    while (std::getline(lines, line)) {
      const std::string name = line.substr(0, line.find(' '));
      const bool source = line.find(" = input ") < 8 || line.find(" = weight ") < 8 || line.find(" = constant ") < 8;
      if (!source || read_in(case_text(case_), name)) text += line + "\n";
    }
    if (auto smaller = parse_case(text); smaller.ok()) better(std::move(*smaller));
  }

  // Whether "%12" is more than once in the text, not as a part of "%123".
  static bool read_in(const std::string& text, const std::string& name) {
    int count = 0;
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const size_t end = at + name.size();
      if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) ++count;
    }
    return count > 1;
  }

  bool nodes() {
    bool any = false;
    for (size_t i = case_.graph.nodes().size(); i-- > 0;) {
      for (const auto what : {GraphEdit::Node::drop, GraphEdit::Node::forward, GraphEdit::Node::input}) {
        GraphEdit edit(case_.graph);
        edit.nodes[i] = what;
        if (!better(edit)) continue;
        any = true;
        break;
      }
    }
    return any;
  }

  bool pins() {
    bool any = false;
    for (size_t i = 0; i < case_.graph.nodes().size(); ++i) {
      if (case_.graph.nodes()[i].pin.empty()) continue;
      GraphEdit edit(case_.graph);
      edit.pin[i].clear();
      any |= better(edit);
    }
    GraphEdit edit(case_.graph);
    edit.modules = false;
    for (const Node& node : case_.graph.nodes()) {
      if (!node.module.empty()) return any | better(edit);
    }
    return any;
  }

  template <class List>
  bool each(List RandomCase::*list) {
    bool any = false;
    for (size_t i = (case_.*list).size(); i-- > 0;) {
      RandomCase smaller = case_;
      (smaller.*list).erase((smaller.*list).begin() + static_cast<std::ptrdiff_t>(i));
      any |= better(std::move(smaller));
    }
    return any;
  }

  bool masks() {
    bool any = each(&RandomCase::disabled);
    for (size_t d = 0; d < case_.devices.size(); ++d) {
      for (size_t i = case_.devices[d].mask.size(); i-- > 0;) {
        RandomCase smaller = case_;
        auto& mask = smaller.devices[d].mask;
        mask.erase(mask.begin() + static_cast<std::ptrdiff_t>(i));
        any |= better(std::move(smaller));
      }
      RandomCase smaller = case_;
      IsolatedSpec& spec = smaller.devices[d];
      if (spec.addresses.empty() && spec.budget_bytes == 0 && spec.fail_at == 0 && spec.copy_delay.count() == 0)
        continue;
      spec.addresses.clear();
      spec.budget_bytes = spec.fail_at = 0;
      spec.copy_delay = std::chrono::microseconds(0);
      any |= better(std::move(smaller));
    }
    return any;
  }

  bool devices() { return each(&RandomCase::devices); }

  bool options() {
    bool any = false;
    const PlanOptions plain;
    const auto set = [&](auto field, const auto& value) {
      if (case_.options.*field == value) return;
      RandomCase smaller = case_;
      smaller.options.*field = value;
      any |= better(std::move(smaller));
    };
    set(&PlanOptions::fuse, false);
    set(&PlanOptions::reuse, plain.reuse);
    set(&PlanOptions::arena, plain.arena);
    set(&PlanOptions::skip, plain.skip);
    if (!case_.options.placement.weights.empty()) {
      RandomCase smaller = case_;
      smaller.options.placement.weights.clear();
      any |= better(std::move(smaller));
    }
    if (!case_.options.placement.modules.empty()) {
      RandomCase smaller = case_;
      smaller.options.placement.modules.clear();
      any |= better(std::move(smaller));
    }
    return any;
  }

  RandomCase case_;
  const std::function<bool(const RandomCase&)>& fails_;
  int attempts_;
};

}  // namespace

RandomCase shrink(RandomCase c, const std::function<bool(const RandomCase&)>& fails, int attempts) {
  return Shrinker(std::move(c), fails, attempts).run();
}

Status write_case(const std::string& path, const RandomCase& c) {
  std::ofstream file(path, std::ios::binary);
  file << case_text(c);
  file.close();
  if (file) return {};
  return Error{ErrorCode::io, "a case was not written", path, "", ""};
}

Result<RandomCase> read_case(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Error{ErrorCode::io, "a case was not read", path, "", ""};
  auto c = parse_case(text.str());
  if (!c.ok()) return std::move(c).error().at(path);
  return c;
}

}  // namespace chiaro::testing
