// The search for added tokens.
#include "text/added_vocabulary.h"

#include <utility>

#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr int kCodePointBits = 21;

std::uint64_t child_key(std::uint32_t node, char32_t c) {
  return std::uint64_t{node} << kCodePointBits | std::uint64_t{c};
}

// Calls piece(text) for each stretch between tokens, token(text, id) for each token.
template <class Piece, class Token>
void cut(const AddedTokenTree& tree, std::u32string_view text, Piece&& piece, Token&& token) {
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const AddedTokenTree::Match match = tree.longest_at(text, at);
    if (match.length == 0) {
      ++at;
      continue;
    }
    if (at > start) piece(text.substr(start, at - start));
    token(text.substr(at, match.length), match.id);
    at += match.length;
    start = at;
  }
  if (start < text.size()) piece(text.substr(start));
}

}  // namespace

std::unordered_set<std::string> texts_of(std::span<const AddedToken> tokens) {
  std::unordered_set<std::string> texts;
  for (const AddedToken& token : tokens) texts.insert(token.text);
  return texts;
}

void AddedTokenTree::add(std::u32string_view text, std::int32_t id) {
  if (text.empty()) return;
  std::uint32_t node = 0;
  for (const char32_t c : text) {
    const auto [child, made] = children_.emplace(child_key(node, c), static_cast<std::uint32_t>(ids_.size()));
    if (made) ids_.push_back(-1);
    node = child->second;
  }
  ids_[node] = id;
}

AddedTokenTree::Match AddedTokenTree::longest_at(std::u32string_view text, std::size_t at) const {
  Match best;
  std::uint32_t node = 0;
  for (std::size_t end = at; end < text.size(); ++end) {
    const auto child = children_.find(child_key(node, text[end]));
    if (child == children_.end()) break;
    node = child->second;
    if (ids_[node] >= 0) best = {end + 1 - at, ids_[node]};
  }
  return best;
}

void AddedVocabulary::add(const AddedToken& token) {
  std::u32string text = decode_utf8(token.text);
  if (token.normalized) {
    normalized_.add(normalize_(std::move(text)), token.id);
  } else {
    raw_.add(text, token.id);
  }
}

void AddedVocabulary::split(std::u32string_view text, const Sink& sink) const {
  const auto normalized_pieces = [&](std::u32string_view piece) {
    const std::u32string normal = normalize_(std::u32string(piece));
    cut(
        normalized_, normal, [&](std::u32string_view stretch) { sink(stretch, -1); }, sink);
  };
  cut(raw_, text, normalized_pieces, sink);
}

}  // namespace chiaro
