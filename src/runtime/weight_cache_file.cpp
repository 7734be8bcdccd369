#include "runtime/weight_cache_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/utf8_path.h"
#include "core/xxh64.h"

namespace chiaro {
namespace {

constexpr std::string_view kMagic = "CHIAROPW";
constexpr uint32_t kByteOrder = 0x01020304, kOtherByteOrder = 0x04030201;
constexpr int64_t kHeaderBytes = 64, kHashBytes = 8;
constexpr int64_t kLeastFormBytes = 2 * 4 + 4 * 8;  // of a form in the directory, its texts empty
constexpr int64_t kSamplePieces = 16, kSampleBytes = 4096;

int64_t aligned(int64_t place) {
  return (place + kPackedFormAlignment - 1) / kPackedFormAlignment * kPackedFormAlignment;
}

// Numbers in the machine's byte order, texts behind their length.
class Out {
 public:
  template <class T>
  void number(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    raw(text);
  }
  void raw(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// What Out wrote. Reading past the end gives zeros and is remembered.
class In {
 public:
  explicit In(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value{};
    if (const auto from = take(sizeof value); !from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto from = take(number<uint32_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> take(size_t n) {
    failed_ = failed_ || n > bytes_.size();
    if (failed_) return {};
    const auto taken = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return taken;
  }
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

struct Header {
  int64_t file_bytes = 0, directory_at = 0, directory_bytes = 0, forms = 0;
};

void write_header(Out& out, const Header& header) {
  out.raw(kMagic);
  out.number(kWeightCacheVersion);
  out.number(kByteOrder);
  for (const int64_t n : {header.file_bytes, header.directory_at, header.directory_bytes, header.forms, int64_t{0}}) {
    out.number(n);
  }
  out.number(xxh64(out.bytes()));
}

void write_directory(Out& out, const WeightCacheDirectory& directory) {
  out.text(directory.weights.path);
  out.number(directory.weights.bytes);
  out.number(directory.weights.changed_ns);
  out.number(directory.weights.header);
  for (const CachedForm& form : directory.forms) {
    out.text(form.key.desc);
    out.text(form.key.layout);
    for (const int64_t n : {form.key.source, form.key.bytes, form.at}) out.number(n);
    out.number(form.sample);
  }
}

Error refuse(std::string_view path, std::string why) {
  return {ErrorCode::bad_file, fmt::format("the weight cache {} is not usable", path), std::move(why),
          "delete it; it is made anew from the weights", std::string(path)};
}

Result<Header> read_header(std::span<const std::byte> file, std::string_view path) {
  const auto size = static_cast<int64_t>(file.size());
  if (size < kHeaderBytes) return refuse(path, fmt::format("it has {} bytes, its header would have 64", size));
  if (std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) return refuse(path, "it is a file of another kind");
  In in(file.subspan(kMagic.size(), kHeaderBytes - kMagic.size()));
  const auto version = in.number<uint32_t>(), order = in.number<uint32_t>();
  if (order == kOtherByteOrder) return refuse(path, "it was written on a machine of another byte order");
  if (order != kByteOrder) return refuse(path, "its header is damaged");
  if (version != kWeightCacheVersion) {
    return refuse(path, fmt::format("it is of version {}, this program writes {}", version, kWeightCacheVersion));
  }
  Header header;
  for (int64_t* n : {&header.file_bytes, &header.directory_at, &header.directory_bytes, &header.forms}) {
    *n = in.number<int64_t>();
  }
  (void)in.number<int64_t>();
  if (in.number<uint64_t>() != xxh64(file.first(kHeaderBytes - kHashBytes)))
    return refuse(path, "its header is damaged");
  if (header.file_bytes != size) {
    return refuse(path, fmt::format("it has {} bytes where {} were written", size, header.file_bytes));
  }
  const bool fits = header.directory_at >= kHeaderBytes && header.directory_bytes >= 0 &&
                    header.directory_at <= size - kHashBytes &&
                    header.directory_bytes == size - kHashBytes - header.directory_at;
  if (!fits) return refuse(path, "its directory lies outside it");
  if (header.forms < 0 || header.forms > header.directory_bytes / kLeastFormBytes) {
    return refuse(path, fmt::format("{} forms do not fit into its directory", header.forms));
  }
  return header;
}

Status read_forms(In& in, const Header& header, std::string_view path, std::vector<CachedForm>& forms) {
  forms.reserve(static_cast<size_t>(header.forms));
  int64_t behind = kHeaderBytes;  // the form before
  for (int64_t i = 0; i < header.forms && !in.failed(); ++i) {
    CachedForm form;
    form.key.desc = in.text();
    form.key.layout = in.text();
    for (int64_t* n : {&form.key.source, &form.key.bytes, &form.at}) *n = in.number<int64_t>();
    form.sample = in.number<uint64_t>();
    const bool inside = form.key.bytes >= 0 && form.at >= behind && form.at % kPackedFormAlignment == 0 &&
                        form.at <= header.directory_at && form.key.bytes <= header.directory_at - form.at;
    if (!inside && !in.failed()) return refuse(path, fmt::format("form {} lies outside it or inside another", i));
    behind = form.at + form.key.bytes;
    forms.push_back(std::move(form));
  }
  if (in.failed() || !in.at_end()) return refuse(path, "its directory is damaged");
  return {};
}

}  // namespace

uint64_t sample_hash(std::span<const std::byte> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size <= kSamplePieces * kSampleBytes) return xxh64(bytes);
  uint64_t hash = 0;
  for (int64_t i = 0; i < kSamplePieces; ++i) {
    const int64_t at = (size - kSampleBytes) / (kSamplePieces - 1) * i;
    const int64_t place = i + 1 == kSamplePieces ? size - kSampleBytes : at;
    hash = xxh64(bytes.subspan(static_cast<size_t>(place), kSampleBytes), hash);
  }
  return hash;
}

Result<WeightCacheDirectory> parse_weight_cache(std::span<const std::byte> file, std::string_view path) {
  CHIARO_ASSIGN(const Header header, read_header(file, path));
  const auto written = file.subspan(static_cast<size_t>(header.directory_at));
  const auto bytes = written.first(static_cast<size_t>(header.directory_bytes));
  if (In(written.last(kHashBytes)).number<uint64_t>() != xxh64(bytes)) return refuse(path, "its directory is damaged");
  In in(bytes);
  WeightCacheDirectory directory;
  directory.weights.path = in.text();
  directory.weights.bytes = in.number<int64_t>();
  directory.weights.changed_ns = in.number<int64_t>();
  directory.weights.header = in.number<uint64_t>();
  CHIARO_TRY(read_forms(in, header, path, directory.forms));
  return directory;
}

Result<WeightCacheWriter> WeightCacheWriter::create(const std::filesystem::path& path, WeightFileIdentity weights,
                                                    std::span<const PackedFormKey> forms) {
  WeightCacheDirectory directory{std::move(weights), {}};
  int64_t place = kHeaderBytes;
  for (const PackedFormKey& key : forms) {
    directory.forms.push_back({key, aligned(place), 0});
    place = directory.forms.back().at + key.bytes;
  }
  Out measured;
  write_directory(measured, directory);
  const auto directory_bytes = static_cast<int64_t>(measured.bytes().size());
  const int64_t file_bytes = place + directory_bytes + kHashBytes;
  std::error_code ec;
  const std::filesystem::space_info space = std::filesystem::space(path.parent_path(), ec);
  if (!ec && space.available < static_cast<uintmax_t>(file_bytes)) {
    return Error{ErrorCode::io, fmt::format("no room for the weight cache {}", path_to_utf8(path)),
                 fmt::format("it takes {} bytes, {} are free", file_bytes, space.available),
                 "free some space or choose another folder", path_to_utf8(path)};
  }
  CHIARO_ASSIGN(AtomicFile file, AtomicFile::create(path));
  WeightCacheWriter writer(std::move(file), std::move(directory));
  writer.directory_at_ = place;
  writer.file_bytes_ = file_bytes;
  Out header;
  write_header(header, {file_bytes, place, directory_bytes, static_cast<int64_t>(forms.size())});
  CHIARO_TRY(writer.write(header.bytes()));
  return writer;
}

Status WeightCacheWriter::write(std::span<const std::byte> bytes) {
  CHIARO_TRY(file_.write(bytes));
  written_ += static_cast<int64_t>(bytes.size());
  return {};
}

Status WeightCacheWriter::pad_to(int64_t place) {
  static constexpr std::array<std::byte, kPackedFormAlignment> kZeros{};
  return write(std::span(kZeros).first(static_cast<size_t>(place - written_)));
}

Status WeightCacheWriter::append(std::span<const std::byte> form) {
  const bool expected =
      next_ < directory_.forms.size() && directory_.forms[next_].key.bytes == static_cast<int64_t>(form.size());
  if (!expected) return Error{ErrorCode::internal, "a packed form of another size is written to a cache", "", "", ""};
  CachedForm& entry = directory_.forms[next_++];
  entry.sample = sample_hash(form);
  CHIARO_TRY(pad_to(entry.at));
  return write(form);
}

Status WeightCacheWriter::commit() {
  if (next_ != directory_.forms.size() || written_ > directory_at_) {
    return Error{ErrorCode::internal, "a cache of packed weights is closed without all its forms", "", "", ""};
  }
  CHIARO_TRY(pad_to(directory_at_));
  Out directory;
  write_directory(directory, directory_);
  CHIARO_TRY(write(directory.bytes()));
  Out hash;
  hash.number(xxh64(directory.bytes()));
  CHIARO_TRY(write(hash.bytes()));
  return file_.commit();
}

}  // namespace chiaro
