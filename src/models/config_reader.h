// Reads a model's config.json so that every setting is either honoured or refused.
//
// Getters return a usable value whatever happens and remember the first mistake, so that a config reads as a list;
// ask `status()` at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weights/json_config.h"

namespace chiaro::models {

// No dimension of a known model comes near; beyond it a config is broken or hostile.
inline constexpr int64_t kMaxConfigInt = 1 << 20;
inline constexpr int64_t kMaxLevels = 8;     // of a UNet or an autoencoder
inline constexpr int64_t kMaxRepeats = 256;  // layers in a row

class ConfigReader {
 public:
  explicit ConfigReader(const JsonConfig& json) : json_(json) {}

  // Missing or null: `otherwise`. Outside [low, high]: refused.
  int64_t integer(std::string_view key, int64_t otherwise, int64_t low = 1, int64_t high = kMaxConfigInt);
  double number(std::string_view key, double otherwise);
  bool flag(std::string_view key, bool otherwise);
  std::string text(std::string_view key, std::string_view otherwise);
  // One value for each of `count` levels: a list of that length, or one number for all.
  std::vector<int64_t> each(std::string_view key, size_t count, int64_t otherwise, int64_t low = 1,
                            int64_t high = kMaxConfigInt);
  // A list of 1 to kMaxLevels entries. Missing or null: `otherwise`.
  std::vector<int64_t> levels(std::string_view key, std::vector<int64_t> otherwise);
  std::vector<std::string> names(std::string_view key, std::vector<std::string> otherwise);
  // `count` numbers. Missing or null: `otherwise`.
  std::vector<double> numbers(std::string_view key, size_t count, std::vector<double> otherwise);

  // The key is missing or null, or holds one of the plain values that change nothing; anything else is refused.
  void only_null(std::string_view key);
  void only_flag(std::string_view key, bool value);
  void only_number(std::string_view key, double value);
  void only_text(std::string_view key, std::initializer_list<std::string_view> values);
  // Known, and without effect here.
  void ignore(std::initializer_list<std::string_view> keys);

  void refuse(std::string_view key, std::string why, std::string mend = {});
  const Status& status() const { return status_; }

 private:
  template <class T>
  T keep(Result<T> result, T otherwise);
  const JsonConfig& json_;
  Status status_;
};

}  // namespace chiaro::models
