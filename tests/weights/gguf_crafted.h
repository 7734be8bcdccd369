// GGUF files put together piece by piece, right or wrong.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "weights/crafted.h"
#include "weights/gguf_values.h"

namespace chiaro::testing {

class CraftedGguf {
 public:
  template <class T>
  CraftedGguf& number(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    file_.append(bytes, sizeof value);
    return *this;
  }
  CraftedGguf& raw(std::string_view bytes) {
    file_ += bytes;
    return *this;
  }
  CraftedGguf& text(std::string_view value) { return number(uint64_t{value.size()}).raw(value); }
  CraftedGguf& start(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    return raw("GGUF").number(version).number(tensors).number(keys);
  }
  CraftedGguf& key(std::string_view name, GgufType type) { return text(name).number(static_cast<uint32_t>(type)); }
  template <class T>
  CraftedGguf& scalar(std::string_view name, GgufType type, T value) {
    return key(name, type).number(value);
  }
  CraftedGguf& list(std::string_view name, GgufType type, uint64_t count) {
    return key(name, GgufType::array).number(static_cast<uint32_t>(type)).number(count);
  }
  // `dims`: as the file has them, the fastest first.
  CraftedGguf& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
    text(name).number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t d : dims) number(d);
    return number(type).number(offset);
  }
  // Padding to `alignment`, then `count` bytes 0, 1, 2, ...
  CraftedGguf& data(size_t count, size_t alignment = 32) {
    file_.resize((file_.size() + alignment - 1) / alignment * alignment, '\0');
    for (size_t i = 0; i < count; ++i) file_ += static_cast<char>(i & 0xFF);
    return *this;
  }
  const std::string& bytes() const { return file_; }
  std::string cut(size_t bytes) const { return file_.substr(0, file_.size() - bytes); }

 private:
  std::string file_;
};

// One f32 tensor "a" of four numbers.
inline CraftedGguf small_gguf() {
  CraftedGguf file;
  file.start(1, 0).tensor("a", {4}, 0, 0).data(16);
  return file;
}

// tests/golden/README.md, "Weights from a formula", with scale 1 and offset 0.
inline std::vector<float> formula_values(std::string_view name, size_t count) {
  uint64_t key = 0xcbf29ce484222325u;
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t z = key + i * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    out[i] = static_cast<float>(2.0 * (static_cast<double>(z >> 40) * 0x1p-24) - 1.0);
  }
  return out;
}

// The bytes of a block tensor in tests/golden/gguf.
inline std::string formula_blocks(std::string_view name, size_t count) {
  std::string out;
  for (const float v : formula_values(name, count)) {
    out += static_cast<char>(static_cast<unsigned char>((double{v} + 1.0) * 128.0));
  }
  return out;
}

}  // namespace chiaro::testing
