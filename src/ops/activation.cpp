#include "ops/activation.h"

#include <array>
#include <cmath>
#include <utility>

namespace chiaro {
namespace {

constexpr std::array<std::pair<Activation, std::string_view>, 7> kNames{{
    {Activation::none, "none"},
    {Activation::silu, "silu"},
    {Activation::gelu, "gelu"},
    {Activation::gelu_tanh, "gelu_tanh"},
    {Activation::quick_gelu, "quick_gelu"},
    {Activation::sigmoid, "sigmoid"},
    {Activation::relu, "relu"},
}};

double sigmoid_of(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

std::string_view attr_enum_name(Activation activation) { return kNames[static_cast<size_t>(activation)].second; }

bool attr_enum_parse(std::string_view text, Activation& activation) {
  for (const auto& [value, name] : kNames) {
    if (name == text) {
      activation = value;
      return true;
    }
  }
  return false;
}

double activate(Activation activation, double x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  switch (activation) {
    case Activation::none: return x;
    case Activation::silu: return x * sigmoid_of(x);
    case Activation::gelu: return 0.5 * x * (1.0 + std::erf(x * kSqrtHalf));
    case Activation::gelu_tanh: return 0.5 * x * (1.0 + std::tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu: return x * sigmoid_of(1.702 * x);
    case Activation::sigmoid: return sigmoid_of(x);
    case Activation::relu: return x > 0 ? x : 0;
  }
  return x;
}

}  // namespace chiaro
