// Pointwise activations: names for text and attributes, and the scalar formulas that every kernel is tested against.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace chiaro {

enum class Activation : int { none, relu, silu, gelu, gelu_tanh, quick_gelu, sigmoid, tanh };

inline constexpr std::array<std::pair<Activation, std::string_view>, 8> kActivationNames{{
    {Activation::none, "none"},
    {Activation::relu, "relu"},
    {Activation::silu, "silu"},
    {Activation::gelu, "gelu"},
    {Activation::gelu_tanh, "gelu_tanh"},
    {Activation::quick_gelu, "quick_gelu"},
    {Activation::sigmoid, "sigmoid"},
    {Activation::tanh, "tanh"},
}};

inline std::string_view activation_name(Activation activation) {
  for (const auto& [value, name] : kActivationNames) {
    if (value == activation) return name;
  }
  return "?";
}

inline std::optional<Activation> activation_from_name(std::string_view name) {
  for (const auto& [value, text] : kActivationNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

// How attributes print and read an Activation (graph/attrs.h).
std::string_view attr_enum_name(Activation activation);
bool attr_enum_parse(std::string_view text, Activation& activation);

// gelu, gelu_tanh: Hendrycks and Gimpel 2016 (arXiv 1606.08415), exact and tanh form; quick_gelu: ibid., x
// sigmoid(1.702 x), as CLIP uses it; silu: x sigmoid(x). T is float or double.
template <class T>
T activate(Activation activation, T x) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x < T(0) ? T(0) : x;
    case Activation::silu: return x / (T(1) + std::exp(-x));
    case Activation::gelu: return x * (T(0.5) * std::erfc(-x * T(0.70710678118654752440)));
    case Activation::gelu_tanh:  // (1 + tanh u) / 2 = 1 / (1 + e^(-2u)), which does not cancel for negative u
      return x / (T(1) + std::exp(T(-1.59576912160573071176) * (x + T(0.044715) * x * x * x)));
    case Activation::quick_gelu: return x / (T(1) + std::exp(T(-1.702) * x));
    case Activation::sigmoid: return T(1) / (T(1) + std::exp(-x));
    case Activation::tanh: return std::tanh(x);
  }
  return x;
}

}  // namespace chiaro
