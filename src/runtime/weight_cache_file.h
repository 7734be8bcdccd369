// A cache file of packed weights: its directory, read with care, and its writer.
//
//   0   header, 64 bytes: magic, version, byte order, sizes, XXH64 of what is before it
//   N   forms, each from a multiple of kPackedFormAlignment on, in the order of the directory
//   D   directory: the weight file that they were made from; per form its operand, layout, place and a check
//   end XXH64 of the directory
//
// The header and the directory are checked whole. The forms, nearly all of the file, are not: hashing them would read
// all that mapping leaves where it is, and a weight file's own bytes are not checked either. What goes wrong in
// practice (a file cut, or with holes after a crash) shows in a sample of each form, looked at when the file is opened;
// a file appears under its name only once all of it has been flushed (core/atomic_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "chiaro/error.h"
#include "core/atomic_file.h"

namespace chiaro {

inline constexpr uint32_t kWeightCacheVersion = 1;
inline constexpr int64_t kPackedFormAlignment = 4096;  // bytes: a page, so that forms are mapped as memory is

// What a weight file is known by. Another size, time or header is another file.
struct WeightFileIdentity {
  std::string path;  // canonical, UTF-8
  int64_t bytes = 0;
  int64_t changed_ns = 0;
  uint64_t header = 0;  // XXH64 of the part that names its tensors
  bool operator==(const WeightFileIdentity&) const = default;
};

// One packed form: of which operand, and in which layout (PlanPacked).
struct PackedFormKey {
  int64_t source = 0;  // bytes, of the operand's first element in the weight file
  std::string desc;    // TensorDesc::text() of the operand
  std::string layout;
  int64_t bytes = 0;  // of the form
  bool operator==(const PackedFormKey&) const = default;
  // Not <=>: libc++ 14 has none for strings.
  bool operator<(const PackedFormKey& o) const {
    return std::tie(source, desc, layout, bytes) < std::tie(o.source, o.desc, o.layout, o.bytes);
  }
};

struct CachedForm {
  PackedFormKey key;
  int64_t at = 0;       // in the cache file
  uint64_t sample = 0;  // sample_hash of its bytes
};

struct WeightCacheDirectory {
  WeightFileIdentity weights;
  std::vector<CachedForm> forms;
};

// XXH64 of 16 pieces of 4 KiB that are spread over the bytes, the first and the last among them; of all bytes where
// they are few.
uint64_t sample_hash(std::span<const std::byte> bytes);

// The directory of a whole file; every form lies inside it. `path` is for messages. Reads the header and the directory
// alone. Errors: bad_file (cut, damaged, of another version or byte order).
Result<WeightCacheDirectory> parse_weight_cache(std::span<const std::byte> file, std::string_view path);

// Usage: create, append the bytes of every form in order, commit. Destroyed before, it leaves nothing behind.
// Thread rule: one thread at a time.
class WeightCacheWriter {
 public:
  // Errors: io, also where the disk has less room than the file will take.
  static Result<WeightCacheWriter> create(const std::filesystem::path& path, WeightFileIdentity weights,
                                          std::span<const PackedFormKey> forms);
  int64_t file_bytes() const { return file_bytes_; }
  int64_t written() const { return written_; }
  // Errors: io; internal (not the bytes that the next form has).
  Status append(std::span<const std::byte> form);
  // Errors: io; internal (forms are missing).
  Status commit();

 private:
  WeightCacheWriter(AtomicFile file, WeightCacheDirectory directory)
      : file_(std::move(file)), directory_(std::move(directory)) {}
  Status write(std::span<const std::byte> bytes);
  Status pad_to(int64_t place);

  AtomicFile file_;
  WeightCacheDirectory directory_;
  size_t next_ = 0;  // the form whose bytes come next
  int64_t written_ = 0, directory_at_ = 0, file_bytes_ = 0;
};

}  // namespace chiaro
