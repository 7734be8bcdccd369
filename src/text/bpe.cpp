// Byte-pair encoding: the byte alphabet and the merge loop.
#include "text/bpe.h"

#include <algorithm>
#include <functional>

namespace chiaro {
namespace {

constexpr std::uint32_t kEnd = 0xFFFFFFFFU;  // no neighbour
constexpr std::int32_t kGone = -1;           // merged into the symbol on its left

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

bool keeps_code_point(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

}  // namespace

ByteAlphabet::ByteAlphabet() {
  std::size_t at = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!keeps_code_point(byte)) continue;
    symbols_[byte] = byte;
    order_[at++] = static_cast<std::uint8_t>(byte);
  }
  char32_t fresh = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (keeps_code_point(byte)) continue;
    symbols_[byte] = fresh++;
    order_[at++] = static_cast<std::uint8_t>(byte);
  }
}

std::optional<std::uint8_t> ByteAlphabet::byte(char32_t symbol) const {
  if (symbol < 256) {
    if (keeps_code_point(static_cast<unsigned>(symbol))) return static_cast<std::uint8_t>(symbol);
    return std::nullopt;
  }
  // Those without a code point of their own stand behind the 188 others, in the order of U+0100, U+0101, …
  constexpr std::size_t kKept = 188;
  const std::size_t index = kKept + (symbol - 0x100);
  if (index >= order_.size()) return std::nullopt;
  return order_[index];
}

std::size_t BpeMerges::PairHash::operator()(std::uint64_t pair) const {
  // The finaliser of SplitMix64 (Steele et al. 2014): ids are small and dense, their bits must be spread.
  pair ^= pair >> 30;
  pair *= 0xbf58476d1ce4e5b9ULL;
  pair ^= pair >> 27;
  pair *= 0x94d049bb133111ebULL;
  return static_cast<std::size_t>(pair ^ pair >> 31);
}

bool BpeMerges::add(const MergeRule& rule) {
  const auto rank = static_cast<std::uint32_t>(results_.size());
  if (!ranks_.emplace(pair_key(rule.left, rule.right), rank).second) return false;
  results_.push_back(rule.result);
  return true;
}

void BpeMerges::apply(std::vector<std::int32_t>& ids, BpeScratch& scratch) const {
  const auto count = static_cast<std::uint32_t>(ids.size());
  if (count < 2) return;
  // Plain references: clang 14 takes no structured binding into a lambda.
  std::vector<std::uint32_t>& next = scratch.next;
  std::vector<std::uint32_t>& prev = scratch.prev;
  std::vector<std::uint64_t>& heap = scratch.heap;
  next.resize(count);
  prev.resize(count);
  heap.clear();

  // A candidate is (rank, position of its left symbol) in one integer: the heap's order is the order of merging.
  const auto candidate = [&](std::uint32_t left) -> std::uint64_t {
    const auto found = ranks_.find(pair_key(ids[left], ids[next[left]]));
    return found == ranks_.end() ? ~std::uint64_t{0} : std::uint64_t{found->second} << 32 | left;
  };
  const auto push = [&](std::uint32_t left) {
    const std::uint64_t entry = candidate(left);
    if (entry == ~std::uint64_t{0}) return;
    heap.push_back(entry);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };

  for (std::uint32_t i = 0; i < count; ++i) {
    next[i] = i + 1 < count ? i + 1 : kEnd;
    prev[i] = i > 0 ? i - 1 : kEnd;
    if (next[i] == kEnd) break;
    const std::uint64_t entry = candidate(i);
    if (entry != ~std::uint64_t{0}) heap.push_back(entry);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const std::uint64_t entry = heap.back();
    heap.pop_back();
    const auto left = static_cast<std::uint32_t>(entry);
    // Stale: one of the two symbols has been merged since the candidate was pushed.
    if (ids[left] == kGone || next[left] == kEnd || candidate(left) != entry) continue;
    const std::uint32_t right = next[left];
    ids[left] = results_[static_cast<std::size_t>(entry >> 32)];
    ids[right] = kGone;
    next[left] = next[right];
    if (next[left] != kEnd) prev[next[left]] = left;
    if (prev[left] != kEnd) push(prev[left]);
    if (next[left] != kEnd) push(left);
  }
  ids.erase(std::remove(ids.begin(), ids.end(), kGone), ids.end());
}

}  // namespace chiaro
