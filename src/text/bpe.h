// Byte-level byte-pair encoding (Sennrich et al. 2016; the byte alphabet of GPT-2, Radford et al. 2019).
//
// A word is a row of symbols, at first one per byte; the adjacent pair with the lowest rank is merged, the leftmost of
// equals first, until no pair has a rule.
// Thread rule: const after building; `apply` works on the caller's scratch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chiaro {

// The printable alphabet that stands for the 256 bytes in vocabulary files: bytes that print keep their Latin-1 code
// point (33..126, 161..172, 174..255), the other 68 get U+0100, U+0101, … in byte order.
class ByteAlphabet {
 public:
  ByteAlphabet();
  char32_t symbol(std::uint8_t byte) const { return symbols_[byte]; }
  // The byte that a code point stands for; empty where it stands for none.
  std::optional<std::uint8_t> byte(char32_t symbol) const;
  // The bytes in the order in which the reference vocabularies list them: those that print first.
  const std::array<std::uint8_t, 256>& vocabulary_order() const { return order_; }

 private:
  std::array<char32_t, 256> symbols_{};
  std::array<std::uint8_t, 256> order_{};
};

// One rule: `left` followed by `right` becomes `result`. Ids of the vocabulary.
struct MergeRule {
  std::int32_t left = 0;
  std::int32_t right = 0;
  std::int32_t result = 0;
};

// Working memory of BpeMerges::apply, kept between words to save allocations.
struct BpeScratch {
  std::vector<std::uint32_t> next;
  std::vector<std::uint32_t> prev;
  std::vector<std::uint64_t> heap;
};

class BpeMerges {
 public:
  // Appends a rule with the next rank. False where the pair already has one (nothing changes).
  bool add(const MergeRule& rule);
  std::size_t size() const { return results_.size(); }

  // Merges `ids` (at most 2^31 symbols) in place. O(n log n) for any word: a heap of candidates over a linked list.
  void apply(std::vector<std::int32_t>& ids, BpeScratch& scratch) const;

 private:
  struct PairHash {
    std::size_t operator()(std::uint64_t pair) const;
  };
  std::unordered_map<std::uint64_t, std::uint32_t, PairHash> ranks_;  // (left, right) -> rank
  std::vector<std::int32_t> results_;                                 // by rank
};

}  // namespace chiaro
