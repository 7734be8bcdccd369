// Reading by a cursor that never passes the end: a value is read only after it was seen to fit.
#include "weights/gguf_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "weights/file_look.h"
#include "weights/gguf_layout.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

constexpr std::string_view kDamaged = "the file is damaged or cut: get it again and compare its size with the source";
constexpr std::string_view kMakeAgain = "use another copy of the model, or make the file again";

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }

  template <class T>
  bool read(T& value) {
    if (left() < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  // `count` bytes where they lie; they must be there.
  std::span<const std::byte> take(uint64_t count) {
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
};

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, std::string_view path, std::shared_ptr<const void> owner)
      : cursor_(file), file_(file), path_(path), owner_(std::move(owner)) {
    header_.metadata = GgufMetadata(std::string(path));
  }

  Result<GgufHeader> read() {
    CHIARO_TRY(read_start());
    for (uint64_t i = 0; i < keys_; ++i) CHIARO_TRY(read_key(i));
    CHIARO_TRY(read_alignment());
    for (uint64_t i = 0; i < tensors_; ++i) CHIARO_TRY(read_tensor(i));
    header_.data_start = cursor_.at();  // and padding: see check_gguf_layout
    return std::move(header_);
  }

 private:
  Error refuse(std::string why, std::string_view mend = kDamaged, ErrorCode code = ErrorCode::bad_file) const {
    const std::string shown = printable_path(path_);
    return {code, "GGUF reader refuses " + shown, std::move(why), std::string(mend), shown};
  }
  std::string here() const { return " at byte " + std::to_string(cursor_.at()); }
  Error cut(const std::string& within) const {
    return refuse("it ends" + here() + " within " + within + " (" + std::to_string(cursor_.left()) +
                  " bytes are left)");
  }
  // A count of things that take `least` bytes each.
  Status check_count(uint64_t count, uint64_t least, const std::string& what) const {
    if (count <= cursor_.left() / least) return {};
    return refuse(what + here() + " counts " + std::to_string(count) + ", for which " + std::to_string(cursor_.left()) +
                  " bytes left are too few");
  }

  Status read_start();
  Status read_key(uint64_t index);
  Result<GgufValue> read_value(uint32_t type, const std::string& what);
  Result<GgufValue> read_array(const std::string& what);
  template <class T>
  Result<GgufValue> read_scalar(const std::string& what);
  Result<std::string_view> read_text(const std::string& what, uint64_t most);
  Status skip_texts(uint64_t count, const std::string& what);
  Status read_alignment();
  Status read_tensor(uint64_t index);
  Status read_dimensions(const std::string& what, std::array<uint64_t, kMaxGgufRank>& dims, uint32_t& rank);
  Status size_tensor(const std::string& what, const std::array<uint64_t, kMaxGgufRank>& dims, uint32_t rank,
                     GgufEntry& entry);

  Cursor cursor_;
  std::span<const std::byte> file_;
  std::string_view path_;
  std::shared_ptr<const void> owner_;
  GgufHeader header_;
  uint64_t tensors_ = 0, keys_ = 0;
};

Status HeaderReader::read_start() {
  uint32_t magic = 0;
  if (!cursor_.read(magic) || magic != 0x46554747u) {  // "GGUF"
    const FileLook look = look_at(file_);
    return refuse("it looks like " + look.looks_like, look.mend);
  }
  if (!cursor_.read(header_.version)) return cut("its version");
  const uint32_t version = header_.version;
  if (version == 1) {
    return refuse("it is of version 1, whose counts have 32 bits", "convert it to version 3 with llama.cpp's tools",
                  ErrorCode::unsupported);
  }
  if (version != 0 && version % 65536 == 0) {
    return refuse("its version reads as " + std::to_string(version) + ": it is big-endian",
                  "convert it with gguf-convert-endian of the gguf Python package", ErrorCode::unsupported);
  }
  if (version != 2 && version != 3) {
    return refuse("it is of version " + std::to_string(version) + "; versions 2 and 3 are known",
                  "make the file again with current tools");
  }
  if (!cursor_.read(tensors_) || !cursor_.read(keys_)) return cut("its counts");
  if (tensors_ > kMaxGgufTensors) {
    return refuse("it counts " + std::to_string(tensors_) + " tensors; the limit is " +
                  std::to_string(kMaxGgufTensors));
  }
  CHIARO_TRY(check_count(keys_, 13, "the number of metadata keys"));  // length, type, one byte
  return check_count(tensors_, 24, "the number of tensors");          // length, rank, type, offset
}

Result<std::string_view> HeaderReader::read_text(const std::string& what, uint64_t most) {
  uint64_t length = 0;
  if (!cursor_.read(length)) return cut("the length of " + what);
  if (length > cursor_.left()) {
    return refuse(what + here() + " would take " + std::to_string(length) + " bytes; only " +
                  std::to_string(cursor_.left()) + " are left");
  }
  if (length > most) {
    return refuse(what + here() + " takes " + std::to_string(length) + " bytes; the limit is " + std::to_string(most));
  }
  const auto bytes = cursor_.take(length);
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <class T>
Result<GgufValue> HeaderReader::read_scalar(const std::string& what) {
  T value{};
  if (!cursor_.read(value)) return cut(what);
  return GgufValue(value);
}

Result<GgufValue> HeaderReader::read_value(uint32_t type, const std::string& what) {
  if (type >= kGgufTypeCount) return refuse(what + here() + " is of the unknown type " + std::to_string(type));
  switch (static_cast<GgufType>(type)) {
    case GgufType::u8: return read_scalar<uint8_t>(what);
    case GgufType::i8: return read_scalar<int8_t>(what);
    case GgufType::u16: return read_scalar<uint16_t>(what);
    case GgufType::i16: return read_scalar<int16_t>(what);
    case GgufType::u32: return read_scalar<uint32_t>(what);
    case GgufType::i32: return read_scalar<int32_t>(what);
    case GgufType::f32: return read_scalar<float>(what);
    case GgufType::u64: return read_scalar<uint64_t>(what);
    case GgufType::i64: return read_scalar<int64_t>(what);
    case GgufType::f64: return read_scalar<double>(what);
    case GgufType::array: return read_array(what);
    case GgufType::text: {
      CHIARO_ASSIGN(const std::string_view text, read_text(what, std::numeric_limits<uint64_t>::max()));
      return GgufValue(std::string(text));
    }
    case GgufType::boolean: break;
  }
  uint8_t flag = 0;
  if (!cursor_.read(flag)) return cut(what);
  if (flag > 1) return refuse(what + here() + " is a boolean of value " + std::to_string(flag));
  return GgufValue(flag == 1);
}

Status HeaderReader::skip_texts(uint64_t count, const std::string& what) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t length = 0;
    if (!cursor_.read(length)) return cut("text " + std::to_string(i) + " of " + what);
    if (length > cursor_.left()) {
      return refuse("text " + std::to_string(i) + " of " + what + here() + " would take " + std::to_string(length) +
                    " bytes; only " + std::to_string(cursor_.left()) + " are left");
    }
    cursor_.take(length);
  }
  return {};
}

Result<GgufValue> HeaderReader::read_array(const std::string& what) {
  uint32_t type = 0;
  GgufArray list;
  if (!cursor_.read(type) || !cursor_.read(list.count)) return cut(what);
  if (type >= kGgufTypeCount)
    return refuse(what + here() + " lists values of the unknown type " + std::to_string(type));
  list.type = static_cast<GgufType>(type);
  if (list.type == GgufType::array) return refuse(what + here() + " is a list of lists");
  const size_t each = gguf_type_bytes(list.type);
  CHIARO_TRY(check_count(list.count, each == 0 ? 8 : each, what));
  const uint64_t start = cursor_.at();
  if (each == 0) {
    CHIARO_TRY(skip_texts(list.count, what));
  } else {
    cursor_.take(list.count * each);
  }
  list.bytes = file_.subspan(start, cursor_.at() - start);
  list.owner = owner_;
  if (list.type == GgufType::boolean) {
    const auto wrong = std::find_if(list.bytes.begin(), list.bytes.end(), [](std::byte b) { return b > std::byte{1}; });
    if (wrong != list.bytes.end()) return refuse(what + here() + " holds a boolean that is neither 0 nor 1");
  }
  return GgufValue(std::move(list));
}

Status HeaderReader::read_key(uint64_t index) {
  const std::string place = "metadata key " + std::to_string(index);
  CHIARO_ASSIGN(const std::string_view key, read_text(place, kMaxGgufNameBytes));
  const std::string what = "metadata " + printable(key);
  uint32_t type = 0;
  if (!cursor_.read(type)) return cut("the type of " + what);
  CHIARO_ASSIGN(GgufValue value, read_value(type, what));
  if (header_.metadata.add(std::string(key), std::move(value))) return {};
  return refuse("it has the " + what + " twice");
}

Status HeaderReader::read_alignment() {
  const GgufValue* value = header_.metadata.find(kGgufAlignmentKey);
  if (value == nullptr) return {};
  const auto* alignment = std::get_if<uint32_t>(value);
  if (alignment == nullptr) {
    return refuse("its general.alignment is " + std::string(gguf_type_name(gguf_type_of(*value))) + ", not u32",
                  kMakeAgain);
  }
  header_.alignment = *alignment;
  if (*alignment != 0 && (*alignment & (*alignment - 1)) == 0 && *alignment <= kMaxGgufAlignment) return {};
  return refuse("its general.alignment is " + std::to_string(*alignment) + "; a power of two up to " +
                    std::to_string(kMaxGgufAlignment) + " is needed",
                kMakeAgain);
}

std::string shape_text(const std::array<uint64_t, kMaxGgufRank>& dims, uint32_t rank) {
  std::string text = "[";
  for (uint32_t i = rank; i > 0; --i) text += std::to_string(dims[i - 1]) + (i > 1 ? "," : "");
  return text + "]";
}

Status HeaderReader::read_dimensions(const std::string& what, std::array<uint64_t, kMaxGgufRank>& dims,
                                     uint32_t& rank) {
  if (!cursor_.read(rank)) return cut("the rank of " + what);
  if (rank > kMaxGgufRank) {
    return refuse(what + here() + " has " + std::to_string(rank) + " dimensions; the limit is " +
                  std::to_string(kMaxGgufRank));
  }
  uint64_t bound = 1;  // zeros count as one, so that strides made from this shape cannot overflow either
  for (uint32_t i = 0; i < rank; ++i) {
    if (!cursor_.read(dims[i])) return cut("the dimensions of " + what);
    constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 64;
    if (dims[i] > kMost || bound > kMost / std::max<uint64_t>(dims[i], 1)) {
      return refuse(what + here() + " has a dimension of " + std::to_string(dims[i]) +
                    ": the size of the tensor exceeds 63 bits");
    }
    bound *= std::max<uint64_t>(dims[i], 1);
  }
  return {};
}

// Type, size and shape.
Status HeaderReader::size_tensor(const std::string& what, const std::array<uint64_t, kMaxGgufRank>& dims, uint32_t rank,
                                 GgufEntry& entry) {
  const GgufTensorType* type = gguf_tensor_type(entry.type_code);
  if (type == nullptr) {
    entry.skip_reason = "unknown type " + std::to_string(entry.type_code);
    return {};
  }
  const auto block = static_cast<uint64_t>(type->block_elements);
  const uint64_t row = rank == 0 ? 1 : dims[0];
  if (row % block != 0) {
    return refuse(what + " of shape " + shape_text(dims, rank) + " has rows of " + std::to_string(row) +
                      " numbers, which blocks of " + std::to_string(block) + " (" + std::string(type->name) +
                      ") do not divide",
                  "quantise this tensor to a type whose blocks divide its rows, or keep it as F16");
  }
  uint64_t count = 1;
  std::array<int64_t, kMaxGgufRank> shape{};
  for (uint32_t i = 0; i < rank; ++i) {
    count *= dims[i];
    shape[rank - 1 - i] = static_cast<int64_t>(dims[i]);
  }
  entry.bytes = count / block * static_cast<uint64_t>(type->block_bytes);
  entry.shape = Shape(std::span<const int64_t>(shape.data(), rank));
  entry.dtype = type->dtype;
  if (!entry.dtype) entry.skip_reason = "unsupported type " + std::string(type->name);
  return {};
}

Status HeaderReader::read_tensor(uint64_t index) {
  CHIARO_ASSIGN(const std::string_view name,
                read_text("the name of tensor " + std::to_string(index), kMaxGgufNameBytes));
  const std::string what = "tensor " + printable(name);
  GgufEntry entry;
  entry.name = std::string(name);
  std::array<uint64_t, kMaxGgufRank> dims{};
  uint32_t rank = 0;
  CHIARO_TRY(read_dimensions(what, dims, rank));
  if (!cursor_.read(entry.type_code)) return cut("the type of " + what);
  if (!cursor_.read(entry.offset)) return cut("the offset of " + what);
  CHIARO_TRY(size_tensor(what, dims, rank, entry));
  header_.entries.push_back(std::move(entry));
  return {};
}

}  // namespace

Result<GgufHeader> parse_gguf_header(std::span<const std::byte> file, std::string_view path,
                                     std::shared_ptr<const void> owner) {
  CHIARO_ASSIGN(GgufHeader header, HeaderReader(file, path, std::move(owner)).read());
  CHIARO_TRY(check_gguf_layout(header, file.size(), path));
  return header;
}

}  // namespace chiaro
