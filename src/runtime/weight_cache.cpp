#include "runtime/weight_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/utf8_path.h"
#include "core/xxh64.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

WeightFileIdentity identity_of(const TensorFile& weights) {
  const MappedFile& file = *weights.file;
  std::error_code ec;
  fs::path path = fs::canonical(file.path(), ec);
  if (ec) path = fs::absolute(file.path(), ec);
  const auto header = std::min(static_cast<size_t>(weights.header_bytes), file.bytes().size());
  return {path_to_utf8(path), static_cast<int64_t>(file.bytes().size()), file.changed_ns(),
          xxh64(file.bytes().first(header))};
}

uint64_t hash_of(std::span<const PackedFormKey> forms) {
  uint64_t hash = 0;
  for (const PackedFormKey& form : forms) {
    hash = xxh64(fmt::format("{} {} {}\n{}\n", form.source, form.bytes, form.desc, form.layout), hash);
  }
  return hash;
}

Error unfit(const fs::path& path, std::string why) {
  return {ErrorCode::bad_file, fmt::format("the weight cache {} is not usable", path_to_utf8(path)), std::move(why), "",
          path_to_utf8(path)};
}

// What a process that was killed while it wrote has left. Another that writes now touches its file all the time.
void remove_leftovers(const fs::path& folder) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = path_to_utf8(it->path().filename());
    if (!AtomicFile::is_temporary(name)) continue;
    std::error_code gone;
    const auto time = fs::last_write_time(it->path(), gone);
    if (!gone && time < old) fs::remove(it->path(), gone);
  }
}

}  // namespace

WeightCache::Set WeightCache::set_of(const TensorFile& weights, std::vector<PackedFormKey> forms) const {
  std::sort(forms.begin(), forms.end());
  forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
  Set set{{}, identity_of(weights), std::move(forms)};
  set.path = folder_ / fmt::format("{:016x}-{:016x}.chiaropack", xxh64(set.weights.path), hash_of(set.forms));
  return set;
}

Result<std::shared_ptr<const OpenWeightCache>> WeightCache::read(const Set& set) const {
  CHIARO_ASSIGN(auto file, MappedFile::open(set.path));
  CHIARO_ASSIGN(WeightCacheDirectory directory, parse_weight_cache(file->bytes(), path_to_utf8(set.path)));
  if (directory.weights != set.weights) {
    return unfit(set.path, directory.weights.path == set.weights.path ? set.weights.path + " has changed since"
                                                                      : "it is of " + directory.weights.path);
  }
  const auto same = [](const CachedForm& a, const PackedFormKey& b) { return a.key == b; };
  if (!std::equal(directory.forms.begin(), directory.forms.end(), set.forms.begin(), set.forms.end(), same)) {
    return unfit(set.path, "it holds other forms than its name says");
  }
  file->prefetch();
  for (const CachedForm& form : directory.forms) {
    const auto bytes = file->bytes().subspan(static_cast<size_t>(form.at), static_cast<size_t>(form.key.bytes));
    if (sample_hash(bytes) != form.sample) {
      return unfit(set.path, fmt::format("the form at byte {} is damaged", form.at));
    }
  }
  return std::make_shared<const OpenWeightCache>(std::move(file), std::move(directory.forms));
}

std::shared_ptr<const OpenWeightCache> WeightCache::open(const Set& set) const {
  std::error_code ec;
  if (!fs::exists(fs::symlink_status(set.path, ec))) return nullptr;
  auto opened = read(set);
  if (!opened.ok()) {
    (*log_)(LogLevel::notice, LogCategory::weights, "{}: {}", opened.error().what, opened.error().why);
    return nullptr;
  }
  (*log_)(LogLevel::info, LogCategory::weights, "{} packed weights of {} are mapped from {}", set.forms.size(),
          set.weights.path, path_to_utf8(set.path));
  return std::move(opened).value();
}

Result<WeightCacheWriter> WeightCache::create(const Set& set) const {
  std::error_code ec;
  fs::create_directories(folder_, ec);  // a failure shows when the file is made
  remove_leftovers(folder_);
  return WeightCacheWriter::create(set.path, set.weights, set.forms);
}

void WeightCache::give_up(const Error& error) {
  writes_ = false;
  (*log_)(LogLevel::notice, LogCategory::weights, "packed weights are not kept in {}: {}: {}", path_to_utf8(folder_),
          error.what, error.why);
}

void WeightCache::tell_written(const Set& set, double seconds) const {
  (*log_)(LogLevel::info, LogCategory::weights, "{} packed weights of {} were written to {} in {:.2f} s",
          set.forms.size(), set.weights.path, path_to_utf8(set.path), seconds);
}

}  // namespace chiaro
