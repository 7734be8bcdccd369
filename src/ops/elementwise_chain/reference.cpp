#include <fmt/format.h>

#include <cstdlib>

#include "ops/add/op.h"
#include "ops/div/op.h"
#include "ops/elementwise.h"
#include "ops/elementwise_chain/op.h"
#include "ops/gelu/op.h"
#include "ops/mul/op.h"
#include "ops/quick_gelu/op.h"
#include "ops/relu/op.h"
#include "ops/scale/op.h"
#include "ops/sigmoid/op.h"
#include "ops/silu/op.h"
#include "ops/sub/op.h"
#include "ops/tanh/op.h"

namespace chiaro {
namespace {

using Kind = ChainStep::Kind;
constexpr std::string_view kName = ElementwiseChain::name;
constexpr std::array<std::pair<std::string_view, Kind>, 6> kBinary{{{"add", Kind::plus},
                                                                    {"sub", Kind::minus},
                                                                    {"mul", Kind::times},
                                                                    {"div", Kind::over},
                                                                    {"rsub", Kind::minus_from},
                                                                    {"rdiv", Kind::over_from}}};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = text.find_first_not_of(' ', i);
    if (begin == std::string_view::npos) break;
    i = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, i - begin));
  }
  return words;
}

bool read_number(const std::string& word, double& value) {
  char* end = nullptr;
  value = std::strtod(word.c_str(), &end);
  return end == word.c_str() + word.size();
}

std::optional<ChainStep> parse_step(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  ChainStep step;
  if (words[0] == "scale") {
    step.kind = Kind::affine;
    const bool numbers = (words.size() == 2 && read_number(words[1], step.scale)) ||
                         (words.size() == 3 && read_number(words[1], step.scale) && read_number(words[2], step.shift));
    return numbers ? std::optional(step) : std::nullopt;
  }
  for (const auto& [name, kind] : kBinary) {
    if (words[0] != name) continue;
    const bool index = words.size() == 2 && words[1].size() == 1 && words[1][0] >= '0' && words[1][0] <= '8';
    step.kind = kind;
    if (index) step.operand = words[1][0] - '0';
    return index ? std::optional(step) : std::nullopt;
  }
  const auto activation = activation_from_name(words[0]);
  if (words.size() != 1 || !activation || *activation == Activation::none) return std::nullopt;
  step.kind = Kind::activation;
  step.activation = *activation;
  return step;
}

double apply(const ChainStep& step, double acc, double operand) {
  switch (step.kind) {
    case Kind::plus: return acc + operand;
    case Kind::minus: return acc - operand;
    case Kind::times: return acc * operand;
    case Kind::over: return acc / operand;
    case Kind::minus_from: return operand - acc;
    case Kind::over_from: return operand / acc;
    case Kind::affine: return acc * step.scale + step.shift;
    case Kind::activation: return activate(step.activation, acc);
  }
  return acc;
}

Value emit_activation(GraphBuilder& g, Activation activation, Value x) {
  switch (activation) {
    case Activation::relu: return relu(g, x);
    case Activation::silu: return silu(g, x);
    case Activation::gelu: return gelu(g, x);
    case Activation::gelu_tanh: return gelu(g, {.tanh = true}, x);
    case Activation::quick_gelu: return quick_gelu(g, x);
    case Activation::sigmoid: return sigmoid(g, x);
    case Activation::tanh: return tanh(g, x);
    case Activation::none: break;
  }
  return g.fail(op_error(kName, std::string(activation_name(activation)), "it is no op of its own"));
}

Status check_operands(std::span<const ChainStep> steps, InputDescs in) {
  const TensorDesc& x = *in[0];
  for (size_t k = 1; k < in.size(); ++k) {
    if (in[k] == nullptr) return op_error(kName, fmt::format("a call without operand {}", k), "it is left out");
    const std::string what = fmt::format("operand {}, {}, with {}", k, in[k]->text(), x.text());
    if (!is_float(in[k]->dtype) && in[k]->dtype != DType::i8) {
      return op_error(kName, what, "it is not a plain number tensor", "cast it");
    }
    const auto shape = broadcast_shapes(x.shape, in[k]->shape);
    if (!shape.ok() || !(*shape == x.shape)) return op_error(kName, what, "it does not stretch to the shape of x");
  }
  std::vector<bool> read(in.size(), false);
  read[0] = true;
  for (const ChainStep& step : steps) {
    if (!step.reads_operand()) continue;
    const auto k = static_cast<size_t>(step.operand);
    if (k >= in.size()) return op_error(kName, fmt::format("a step with input {}", k), "there is no such input");
    read[k] = true;
    const bool first =
        step.kind == Kind::minus_from || step.kind == Kind::over_from;  // the single op has its first input's dtype
    if (first && in[k]->dtype != x.dtype) {
      return op_error(kName, fmt::format("operand {} as {}", k, in[k]->text()),
                      "rsub and rdiv take an operand of x's dtype", "cast it");
    }
  }
  for (size_t k = 0; k < read.size(); ++k) {
    if (!read[k]) return op_error(kName, fmt::format("operand {}", k), "no step reads it", "leave it out");
  }
  return {};
}

// Steps of a node that infer() took.
std::vector<ChainStep> steps_of(const ElementwiseChain::Attrs& attrs) {
  auto steps = parse_chain(attrs.steps);
  return steps.ok() ? std::move(steps).value() : std::vector<ChainStep>{};
}

}  // namespace

Result<std::vector<ChainStep>> parse_chain(std::string_view text) {
  std::vector<ChainStep> steps;
  for (bool more = true; more;) {
    const size_t end = text.find(';');
    more = end != std::string_view::npos;
    const std::string_view one = text.substr(0, end);
    const auto step = parse_step(words_of(one));
    if (!step) {
      return op_error(kName, fmt::format("the step \"{}\"", one), "it is not understood",
                      "steps are add, sub, mul, div, rsub, rdiv with an input from 0 to 8, scale with one or two "
                      "numbers, relu, silu, gelu, gelu_tanh, quick_gelu, sigmoid and tanh");
    }
    steps.push_back(*step);
    if (more) text.remove_prefix(end + 1);
    if (steps.size() > kMaxChainSteps) {
      return op_error(kName, "a longer program", fmt::format("it takes at most {} steps", kMaxChainSteps));
    }
  }
  return steps;
}

std::string chain_text(std::span<const ChainStep> steps) {
  std::string text;
  for (const ChainStep& step : steps) {
    if (!text.empty()) text += "; ";
    if (step.kind == Kind::affine) {
      text += fmt::format("scale {}", step.scale);
      if (step.shift != 0) text += fmt::format(" {}", step.shift);
    } else if (step.kind == Kind::activation) {
      text += activation_name(step.activation);
    } else {
      for (const auto& [name, kind] : kBinary) {
        if (kind == step.kind) text += fmt::format("{} {}", name, step.operand);
      }
    }
  }
  return text;
}

Result<TensorDesc> ElementwiseChain::infer(const Attrs& attrs, InputDescs in) {
  CHIARO_ASSIGN(TensorDesc out, infer_unary(name, in));
  CHIARO_ASSIGN(const auto steps, parse_chain(attrs.steps));
  if (in.size() > kMaxChainOperands + 1) {
    return op_error(name, fmt::format("{} operands", in.size() - 1), fmt::format("it takes {}", kMaxChainOperands));
  }
  CHIARO_TRY(check_operands(steps, in));
  return out;
}

Cost ElementwiseChain::cost(const Attrs& attrs, InputDescs in, const TensorDesc& out) {
  double flops = 0;
  for (const ChainStep& step : steps_of(attrs)) flops += step.reads_operand() ? 1 : 4;
  return elementwise_cost(flops, in, out);
}

Status ElementwiseChain::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  CHIARO_ASSIGN(const auto steps, parse_chain(attrs.steps));
  std::vector<std::vector<double>> operands;
  for (const RefTensor& tensor : in) operands.push_back(stretched(tensor, out.shape));
  for (size_t i = 0; i < out.data.size(); ++i) {
    double acc = operands[0][i];
    for (const ChainStep& step : steps) acc = apply(step, acc, operands[static_cast<size_t>(step.operand)][i]);
    out.data[i] = acc;
  }
  return {};
}

Value ElementwiseChain::decompose(GraphBuilder& g, const Attrs& attrs, std::span<const Value> in) {
  Value acc = in[0];
  for (const ChainStep& step : steps_of(attrs)) {
    const Value operand = in[static_cast<size_t>(step.operand)];
    switch (step.kind) {
      case Kind::plus: acc = add(g, acc, operand); break;
      case Kind::minus: acc = sub(g, acc, operand); break;
      case Kind::times: acc = mul(g, acc, operand); break;
      case Kind::over: acc = div(g, acc, operand); break;
      case Kind::minus_from: acc = sub(g, operand, acc); break;
      case Kind::over_from: acc = div(g, operand, acc); break;
      case Kind::affine: acc = scale(g, {.scale = step.scale, .shift = step.shift}, acc); break;
      case Kind::activation: acc = emit_activation(g, step.activation, acc); break;
    }
  }
  return acc;
}

const OpDef& op_def_elementwise_chain() {
  return op_def<ElementwiseChain>();
}

}  // namespace chiaro
