#include "runtime/segment_key.h"

#include <string_view>

namespace chiaro {
namespace {

void add_text(std::vector<uint64_t>& words, std::string_view text) {
  words.push_back(text.size());
  uint64_t word = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    word = word << 8 | static_cast<unsigned char>(text[i]);
    if (i % 8 == 7 || i + 1 == text.size()) words.push_back(std::exchange(word, 0));
  }
}

void add_place(std::vector<uint64_t>& words, const BufferRef& ref) {
  words.push_back(reinterpret_cast<uintptr_t>(ref.buffer));
  words.push_back(reinterpret_cast<uintptr_t>(ref.address()));
}

}  // namespace

SegmentKey segment_key(std::span<const Launch> launches) {
  SegmentKey key;
  for (const Launch& launch : launches) {
    add_text(key.words, launch.plan->kernel());
    key.words.push_back(launch.plan->call());
    add_text(key.words, launch.label);
    key.words.push_back(launch.inputs.size());
    for (const BufferRef& in : launch.inputs) add_place(key.words, in);
    add_place(key.words, launch.output);
    add_place(key.words, launch.scratch);
  }
  return key;
}

}  // namespace chiaro
