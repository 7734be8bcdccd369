// The folder of cache files of packed weights: one file per weight file and set of forms, mapped where it fits.
//
// A set is what one plan reads of one weight file, so that a file is written once, whole, and never added to. Its name
// is made from the weight file's path and the set: a changed weight file replaces its cache, and instruction sets with
// other layouts have files of their own. Anything wrong with a file or the folder is a line in the log, and weights are
// packed as without a cache.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/mapped_file.h"
#include "core/tensor.h"
#include "runtime/weight_cache_file.h"

namespace chiaro {

// A cache file that is mapped. Thread rule: immutable.
class OpenWeightCache {
 public:
  OpenWeightCache(std::shared_ptr<const MappedFile> file, std::vector<CachedForm> forms)
      : file_(std::move(file)), forms_(std::move(forms)) {}
  size_t size() const { return forms_.size(); }
  std::span<const std::byte> form(size_t index) const {
    const CachedForm& f = forms_[index];
    return file_->bytes().subspan(static_cast<size_t>(f.at), static_cast<size_t>(f.key.bytes));
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<CachedForm> forms_;
};

// Belongs to an engine. Thread rule: one thread at a time; other processes may use the folder at once.
class WeightCache {
 public:
  WeightCache(std::filesystem::path folder, std::shared_ptr<Log> log)
      : folder_(std::move(folder)), log_(std::move(log)) {}

  struct Set {
    std::filesystem::path path;  // of the cache file
    WeightFileIdentity weights;
    std::vector<PackedFormKey> forms;  // sorted, each once
  };
  Set set_of(const TensorFile& weights, std::vector<PackedFormKey> forms) const;

  // The set's file, mapped and looked over; its forms are in the order of the set. Null where there is none that fits,
  // after a notice where there is one that does not.
  std::shared_ptr<const OpenWeightCache> open(const Set& set) const;
  // Makes the folder where it is missing. Errors: io.
  Result<WeightCacheWriter> create(const Set& set) const;
  // False once give_up() was called.
  bool writes() const { return writes_; }
  // Says so once, and nothing more is written by this engine: the next try would fail like this one.
  void give_up(const Error& error);
  void tell_written(const Set& set, double seconds) const;

 private:
  Result<std::shared_ptr<const OpenWeightCache>> read(const Set& set) const;

  std::filesystem::path folder_;
  std::shared_ptr<Log> log_;
  bool writes_ = true;
};

}  // namespace chiaro
