// Tokens that stand beside a byte-pair vocabulary: found in the text as they are, and never made by merging.
//
// The reference is the "added tokens" of Hugging Face's tokenizers. Where several begin at one place the longest wins;
// text is searched from the left. Those declared `normalized` are looked for in the normalised text, all others before
// normalisation, in the raw text. Thread rule: const after the last `add`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace chiaro {

struct AddedToken {
  std::string text;
  std::int32_t id = -1;
  bool normalized = false;
};
std::unordered_set<std::string> texts_of(std::span<const AddedToken> tokens);

// A set of texts with ids, as a tree of code points.
class AddedTokenTree {
 public:
  struct Match {
    std::size_t length = 0;  // code points; 0 where no token begins here
    std::int32_t id = -1;
  };
  // An empty text is left out; a text that is there already gets the new id.
  void add(std::u32string_view text, std::int32_t id);
  // The longest token that begins at `at`.
  Match longest_at(std::u32string_view text, std::size_t at) const;

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // (node, code point) -> node
  std::vector<std::int32_t> ids_ = {-1};                       // by node; -1 where no token ends; 0 is the root
};

class AddedVocabulary {
 public:
  using Normalize = std::u32string (*)(std::u32string);
  // A stretch of normalised text (id -1), or an added token.
  using Sink = std::function<void(std::u32string_view text, std::int32_t id)>;

  explicit AddedVocabulary(Normalize normalize) : normalize_(normalize) {}
  void add(const AddedToken& token);
  // Cuts a text at its added tokens. Every stretch between them is normalised by itself; empty ones are left out.
  void split(std::u32string_view text, const Sink& sink) const;

 private:
  Normalize normalize_;
  AddedTokenTree raw_, normalized_;
};

}  // namespace chiaro
