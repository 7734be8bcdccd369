// Reading of zip directories. Every offset and size is compared with the file before it is used.
#include "weights/zip.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "weights/printable.h"

namespace chiaro {
namespace {

constexpr uint32_t kLocalMagic = 0x04034B50, kCentralMagic = 0x02014B50, kEndMagic = 0x06054B50;
constexpr uint32_t kEnd64Magic = 0x06064B50, kLocator64Magic = 0x07064B50;
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint64_t kMostComment = 65'535;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the value stands in the 64-bit field

Error refuse(std::string_view path, ErrorCode code, std::string why,
             std::string_view mend = "the file is damaged or cut: get it again and compare its size with the source") {
  const std::string shown = printable_path(path);
  return {code, "zip reader refuses " + shown, std::move(why), std::string(mend), shown};
}

// Little-endian numbers at known places; the caller has checked that they are there.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> data) : data_(data) {}
  uint64_t size() const { return data_.size(); }
  bool holds(uint64_t at, uint64_t count) const { return at <= data_.size() && count <= data_.size() - at; }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(number(at, 4)); }
  uint64_t u64(uint64_t at) const { return number(at, 8); }
  std::string_view text(uint64_t at, uint64_t count) const {
    return {reinterpret_cast<const char*>(data_.data()) + at, static_cast<size_t>(count)};
  }

 private:
  uint64_t number(uint64_t at, size_t width) const {
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(data_[at + i]);
    return value;
  }
  std::span<const std::byte> data_;
};

struct Directory {
  uint64_t start = 0, bytes = 0, entries = 0;
};

// The record at the end of the file, behind which only a comment stands.
std::optional<uint64_t> find_end(const Bytes& file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const uint64_t last = file.size() - kEndBytes;
  const uint64_t first = last > kMostComment ? last - kMostComment : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (file.u32(at) == kEndMagic && file.u16(at + 20) == file.size() - at - kEndBytes) return at;
  }
  return std::nullopt;
}

Result<Directory> find_directory(const Bytes& file, std::string_view path) {
  const auto end = find_end(file);
  if (!end) return refuse(path, ErrorCode::bad_file, "it has no directory at its end: the end is cut off");
  Directory found{file.u32(*end + 16), file.u32(*end + 12), file.u16(*end + 10)};
  bool parts = file.u16(*end + 4) != 0 && file.u16(*end + 4) != 0xFFFF;
  uint64_t limit = *end;  // the directory ends before
  if (*end >= kLocatorBytes && file.u32(*end - kLocatorBytes) == kLocator64Magic) {
    const uint64_t at = file.u64(*end - kLocatorBytes + 8);
    limit = *end - kLocatorBytes;
    if (at > limit || limit - at < kEnd64Bytes || file.u32(at) != kEnd64Magic) {
      return refuse(
          path, ErrorCode::bad_file,
          "its 64-bit directory record is not where byte " + std::to_string(*end - kLocatorBytes + 8) + " says");
    }
    found = {file.u64(at + 48), file.u64(at + 40), file.u64(at + 32)};
    parts = file.u32(at + 16) != 0;
    limit = at;
  }
  if (parts) return refuse(path, ErrorCode::unsupported, "it is one of several parts", "join the parts first");
  if (found.start > limit || found.bytes > limit - found.start) {
    return refuse(path, ErrorCode::bad_file,
                  "its directory of " + std::to_string(found.bytes) + " bytes at " + std::to_string(found.start) +
                      " does not lie inside the file of " + std::to_string(file.size()) + " bytes");
  }
  if (found.entries > found.bytes / kCentralBytes || found.entries > kMaxZipEntries) {
    return refuse(path, ErrorCode::bad_file,
                  "its directory of " + std::to_string(found.bytes) + " bytes is said to list " +
                      std::to_string(found.entries) + " entries");
  }
  return found;
}

// Size, stored size and place of an entry where they need 64 bits: they stand in an extra field, in this order.
bool read_extra(const Bytes& file, uint64_t at, uint64_t bytes, std::span<uint64_t*> wanted) {
  if (wanted.empty()) return true;
  const uint64_t end = at + bytes;
  while (end - at >= 4) {
    const uint64_t count = file.u16(at + 2);
    const bool sizes64 = file.u16(at) == 0x0001;
    at += 4;
    if (count > end - at) return false;
    if (sizes64) {
      if (count < 8 * wanted.size()) return false;
      for (uint64_t* value : wanted) {
        *value = file.u64(at);
        at += 8;
      }
      return true;
    }
    at += count;
  }
  return false;
}

class EntryReader {
 public:
  EntryReader(const Bytes& file, const Directory& directory, std::string_view path)
      : file_(file),
        path_(path),
        at_(directory.start),
        end_(directory.start + directory.bytes),
        data_end_(directory.start) {}

  Result<ZipEntry> next() {
    if (end_ - at_ < kCentralBytes || file_.u32(at_) != kCentralMagic) {
      return refuse(path_, ErrorCode::bad_file, "its directory breaks off at byte " + std::to_string(at_));
    }
    const uint64_t name = file_.u16(at_ + 28), extra = file_.u16(at_ + 30), comment = file_.u16(at_ + 32);
    if (name + extra + comment > end_ - at_ - kCentralBytes) {
      return refuse(path_, ErrorCode::bad_file, "its directory breaks off at byte " + std::to_string(at_));
    }
    ZipEntry entry;
    entry.name = file_.text(at_ + kCentralBytes, name);
    const uint16_t flags = file_.u16(at_ + 8), method = file_.u16(at_ + 10);
    uint64_t stored = file_.u32(at_ + 20), place = file_.u32(at_ + 42);
    entry.bytes = file_.u32(at_ + 24);
    std::vector<uint64_t*> wide;
    for (uint64_t* value : {&entry.bytes, &stored, &place}) {
      if (*value == kIn64) wide.push_back(value);
    }
    if (!read_extra(file_, at_ + kCentralBytes + name, extra, wide)) {
      return bad(entry, "lacks its 64-bit sizes");
    }
    at_ += kCentralBytes + name + extra + comment;
    entry.plain = (flags & 1) == 0 && method == 0 && stored == entry.bytes;
    entry.bytes = stored;
    CHIARO_TRY(find_bytes(entry, place));
    return entry;
  }

 private:
  Error bad(const ZipEntry& entry, std::string_view what) const {
    return refuse(path_, ErrorCode::bad_file, "its entry " + printable(entry.name) + " " + std::string(what));
  }
  Status find_bytes(ZipEntry& entry, uint64_t place) const {
    if (place > data_end_ || data_end_ - place < kLocalBytes || file_.u32(place) != kLocalMagic) {
      return bad(entry, "is not at byte " + std::to_string(place) + ", where the directory puts it");
    }
    const uint64_t name = file_.u16(place + 26), extra = file_.u16(place + 28);
    const uint64_t room = data_end_ - place - kLocalBytes;
    if (name + extra > room || file_.text(place + kLocalBytes, name) != entry.name) {
      return bad(entry, "has another name at byte " + std::to_string(place));
    }
    entry.offset = place + kLocalBytes + name + extra;
    if (entry.bytes <= data_end_ - entry.offset) return {};
    return bad(entry, "takes " + std::to_string(entry.bytes) + " bytes but only " +
                          std::to_string(data_end_ - entry.offset) + " lie between it and the directory");
  }

  const Bytes& file_;
  std::string_view path_;
  uint64_t at_, end_, data_end_;
};

Status check_entries(std::vector<ZipEntry>& entries, std::string_view path) {
  std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].offset >= entries[i - 1].offset + entries[i - 1].bytes) continue;
    return refuse(path, ErrorCode::bad_file,
                  "its entries " + printable(entries[i - 1].name) + " and " + printable(entries[i].name) + " overlap");
  }
  std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [](const ZipEntry& a, const ZipEntry& b) { return a.name == b.name; });
  if (twice == entries.end()) return {};
  return refuse(path, ErrorCode::bad_file, "it lists entry " + printable(twice->name) + " twice");
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(std::span<const std::byte> file, std::string_view path) {
  const Bytes bytes(file);
  CHIARO_ASSIGN(const Directory directory, find_directory(bytes, path));
  EntryReader reader(bytes, directory, path);
  std::vector<ZipEntry> entries;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    CHIARO_ASSIGN(ZipEntry entry, reader.next());
    entries.push_back(std::move(entry));
  }
  CHIARO_TRY(check_entries(entries, path));
  return entries;
}

}  // namespace chiaro
