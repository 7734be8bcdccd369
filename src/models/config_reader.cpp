#include "models/config_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "weights/printable.h"

namespace chiaro::models {

template <class T>
T ConfigReader::keep(Result<T> result, T otherwise) {
  if (result.ok()) return std::move(result).value();
  if (status_.ok()) status_ = std::move(result).error();
  return otherwise;
}

void ConfigReader::refuse(std::string_view key, std::string why, std::string mend) {
  if (!status_.ok()) return;
  if (mend.empty()) mend = "this kind of model is not known here; use one that does without";
  status_ = Error{ErrorCode::unsupported, fmt::format("setting {} of {} is refused", printable(key), json_.where()),
                  std::move(why), std::move(mend), json_.where()};
}

int64_t ConfigReader::integer(std::string_view key, int64_t otherwise, int64_t low, int64_t high) {
  const int64_t value = keep(json_.get_int(key, otherwise), otherwise);
  if (value >= low && value <= high) return value;
  refuse(key, fmt::format("it is {}; {} to {} make sense", value, low, high),
         "use the configuration that came with the model");
  return otherwise;
}

double ConfigReader::number(std::string_view key, double otherwise) {
  return keep(json_.get_double(key, otherwise), otherwise);
}

bool ConfigReader::flag(std::string_view key, bool otherwise) {
  return keep(json_.get_bool(key, otherwise), otherwise);
}

std::string ConfigReader::text(std::string_view key, std::string_view otherwise) {
  return keep(json_.get_string(key, otherwise), std::string(otherwise));
}

std::vector<int64_t> ConfigReader::each(std::string_view key, size_t count, int64_t otherwise, int64_t low,
                                        int64_t high) {
  const std::vector<int64_t> fallback(count, otherwise);
  std::vector<int64_t> values = keep(json_.get_int_list(key, fallback), fallback);
  if (json_.kind(key) != JsonKind::list && values.size() == 1) {
    const int64_t all = values[0];  // a copy: assign() must not be given an element of the vector itself
    values.assign(count, all);
  }
  if (values.size() != count) {
    refuse(key, fmt::format("it has {} values for {} levels", values.size(), count),
           "use the configuration that came with the model");
    return fallback;
  }
  for (const int64_t value : values) {
    if (value >= low && value <= high) continue;
    refuse(key, fmt::format("it holds {}; {} to {} make sense", value, low, high),
           "use the configuration that came with the model");
    return fallback;
  }
  return values;
}

std::vector<int64_t> ConfigReader::levels(std::string_view key, std::vector<int64_t> otherwise) {
  const std::vector<int64_t> values = keep(json_.get_int_list(key, otherwise), otherwise);
  const auto sane = [](int64_t value) { return value >= 1 && value <= kMaxConfigInt; };
  if (!values.empty() && values.size() <= static_cast<size_t>(kMaxLevels) &&
      std::all_of(values.begin(), values.end(), sane)) {
    return values;
  }
  refuse(key, fmt::format("1 to {} positive numbers of at most {} are needed", kMaxLevels, kMaxConfigInt),
         "use the configuration that came with the model");
  return otherwise;
}

std::vector<std::string> ConfigReader::names(std::string_view key, std::vector<std::string> otherwise) {
  return keep(json_.get_string_list(key, otherwise), otherwise);
}

std::vector<double> ConfigReader::numbers(std::string_view key, size_t count, std::vector<double> otherwise) {
  std::vector<double> values = keep(json_.get_double_list(key, otherwise), otherwise);
  if (values.size() == count) return values;
  refuse(key, fmt::format("it holds {} numbers of {}", values.size(), count),
         "use the configuration that came with the model");
  return otherwise;
}

void ConfigReader::only_null(std::string_view key) {
  const JsonKind kind = json_.kind(key);
  json_.ignore(key);
  if (kind != JsonKind::missing && kind != JsonKind::null) refuse(key, "only null is known");
}

void ConfigReader::only_flag(std::string_view key, bool value) {
  if (flag(key, value) != value) refuse(key, fmt::format("only {} is known", value));
}

void ConfigReader::only_number(std::string_view key, double value) {
  const double found = number(key, value);
  if (found < value || found > value) refuse(key, fmt::format("it is {}; only {} is known", found, value));
}

void ConfigReader::only_text(std::string_view key, std::initializer_list<std::string_view> values) {
  const std::string found = text(key, *values.begin());
  if (std::find(values.begin(), values.end(), found) != values.end()) return;
  refuse(key, fmt::format("it is {}; {} is known", printable(found), fmt::join(values, ", ")));
}

void ConfigReader::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) json_.ignore(key);
}

}  // namespace chiaro::models
