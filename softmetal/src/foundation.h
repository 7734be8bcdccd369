// Bodies of Foundation's objects, and errors as the rest of softmetal makes them.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "node.h"

namespace softmetal::detail {

struct StringBody final : Body {
  static constexpr const char* kType = "NS::String";
  const char* type() const override { return kType; }
  std::string label_text() const override { return text.substr(0, 60); }
  std::string text;
};

struct ErrorBody final : Body {
  static constexpr const char* kType = "NS::Error";
  const char* type() const override { return kType; }
  std::string label_text() const override { return what.substr(0, 60); }
  std::string domain, what, why, mend;
  NS::Integer code = 0;
};

struct ListBody final : Body {
  static constexpr const char* kType = "NS::Array";
  const char* type() const override { return kType; }
  std::vector<Owned> objects_taken() { return std::move(objects); }
  std::vector<Owned> objects;
};

struct MapBody final : Body {
  static constexpr const char* kType = "NS::Dictionary";
  const char* type() const override { return kType; }
  std::unordered_map<std::string, Owned> objects;
};

inline constexpr const char* kLibraryDomain = "MTLLibraryErrorDomain";
inline constexpr const char* kCommandBufferDomain = "MTLCommandBufferErrorDomain";
inline constexpr const char* kPipelineDomain = "AGXMetal";
inline constexpr const char* kResidencyDomain = "MTLResidencySetErrorDomain";

// Autoreleased.
NS::Error* make_error(const char* domain, NS::Integer code, std::string what, std::string why = "",
                      std::string mend = "");
// Where the caller asked for errors.
inline void give_error(NS::Error** to, NS::Error* error) {
  if (to != nullptr) *to = error;
}

}  // namespace softmetal::detail
