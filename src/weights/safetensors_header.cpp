// Reading of the JSON by events: nothing is kept but what the header needs, and nothing nests deeper than it may.
#include "weights/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "weights/file_look.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

struct KnownDType {
  std::string_view name;
  int bits;
  std::optional<DType> dtype;  // empty: the format knows it, we have no use for it
};

constexpr std::array<KnownDType, 22> kKnown{{
    {"F32", 32, DType::f32},
    {"F16", 16, DType::f16},
    {"BF16", 16, DType::bf16},
    {"F8_E4M3", 8, DType::f8_e4m3},
    {"F8_E5M2", 8, DType::f8_e5m2},
    {"I8", 8, DType::i8},
    {"I32", 32, DType::i32},
    {"F64", 64, {}},
    {"I64", 64, {}},
    {"U64", 64, {}},
    {"C64", 64, {}},
    {"U32", 32, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"U8", 8, {}},
    {"BOOL", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F4", 4, {}},
}};

const KnownDType* known_dtype(std::string_view name) {
  const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const KnownDType& k) { return k.name == name; });
  return found == kKnown.end() ? nullptr : &*found;
}

constexpr std::string_view kDamaged =
    "the file is damaged or not a safetensors file: get it again and compare its size with the source";

Error header_error(std::string_view path, std::string why, std::string_view mend = kDamaged) {
  const std::string shown = printable_path(path);
  return {ErrorCode::bad_file, "safetensors reader refuses " + shown, std::move(why), std::string(mend), shown};
}

// What an entry is while its object is read.
struct Pending {
  SafetensorsEntry entry;
  bool has_dtype = false, has_shape = false, has_offsets = false;
  int rank = 0;
  std::array<int64_t, kMaxSafetensorsRank> dims{};
  int offset_count = 0;
};

std::string shape_text(const Pending& p) {
  std::string text = "[";
  for (int i = 0; i < p.rank; ++i) text += (i > 0 ? "," : "") + std::to_string(p.dims[static_cast<size_t>(i)]);
  return text + "]";
}

std::string offsets_text(const SafetensorsEntry& e) {
  return "data_offsets [" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]";
}

// The events of nlohmann's SAX parser. Any event that the format has no place for ends the parse with `error`.
class HeaderEvents {
 public:
  explicit HeaderEvents(std::string_view path, uint64_t data_bytes) : path_(path), data_bytes_(data_bytes) {}

  bool null() { return state_ == State::top && in_metadata_key_ ? metadata_done() : unexpected("null"); }
  bool boolean(bool) { return unexpected("true or false"); }
  bool number_integer(int64_t value) { return unexpected("the number " + std::to_string(value)); }
  bool number_float(double, const std::string& text) { return unexpected("the number " + text.substr(0, 40)); }
  bool binary(nlohmann::json::binary_t&) { return unexpected("binary"); }

  bool number_unsigned(uint64_t value) {
    if (state_ == State::shape) return dimension(value);
    if (state_ != State::offsets) return unexpected("the number " + std::to_string(value));
    if (pending_.offset_count == 0) pending_.entry.begin = value;
    if (pending_.offset_count == 1) pending_.entry.end = value;
    if (++pending_.offset_count > 2) return fail(tensor_text() + " has more than two data_offsets");
    return true;
  }

  bool string(std::string& value) {
    if (state_ == State::metadata) {
      header.metadata[metadata_key_] = std::move(value);
      return true;
    }
    if (state_ != State::tensor || field_ != Field::dtype) return unexpected("the text " + printable(value));
    if (value.size() > 64) return fail(tensor_text() + " has a dtype of " + std::to_string(value.size()) + " bytes");
    pending_.entry.dtype_name = std::move(value);
    return true;
  }

  bool start_object(size_t) {
    if (state_ == State::start) return enter(State::top);
    if (state_ == State::top) return enter(in_metadata_key_ ? State::metadata : State::tensor);
    return unexpected("an object");
  }

  bool key(std::string& name) {
    if (state_ == State::top) return top_key(name);
    if (state_ == State::metadata) {
      metadata_key_ = std::move(name);
      if (header.metadata.count(metadata_key_) == 0) return true;
      return fail("__metadata__ has the key " + printable(metadata_key_) + " twice");
    }
    return tensor_key(name);
  }

  bool end_object() {
    if (state_ == State::top) return enter(State::done);
    if (state_ == State::metadata) return metadata_done();
    state_ = State::top;
    return finish_tensor();
  }

  bool start_array(size_t) {
    if (state_ == State::tensor && field_ == Field::shape) return enter(State::shape);
    if (state_ == State::tensor && field_ == Field::offsets) return enter(State::offsets);
    return unexpected("a list");
  }

  bool end_array() {
    if (state_ == State::offsets && pending_.offset_count != 2) {
      return fail(tensor_text() + " has " + std::to_string(pending_.offset_count) + " data_offsets where 2 are needed");
    }
    return enter(State::tensor);
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    return fail("its header is not valid JSON at byte " + std::to_string(position + 8) + " of the file");
  }

  SafetensorsHeader header;
  std::optional<Error> error;

 private:
  enum class State { start, top, metadata, tensor, shape, offsets, done };
  enum class Field { none, dtype, shape, offsets };

  bool enter(State state) {
    if (state == State::tensor && state_ == State::top) field_ = Field::none;
    state_ = state;
    return true;
  }
  bool fail(std::string why) {
    error = header_error(path_, std::move(why));
    return false;
  }
  std::string tensor_text() const { return "tensor " + printable(pending_.entry.name); }

  bool unexpected(const std::string& found) {
    switch (state_) {
      case State::start: return fail("its header is not a JSON object");
      case State::metadata: return fail("__metadata__ " + printable(metadata_key_) + " is " + found + ", not a text");
      case State::top:
        return fail((in_metadata_key_ ? "__metadata__" : tensor_text()) + " is " + found + ", not an object");
      case State::shape: return fail(tensor_text() + " has a shape holding " + found + "; only whole numbers >= 0 fit");
      case State::offsets:
        return fail(tensor_text() + " has data_offsets holding " + found + "; only whole numbers >= 0 fit");
      default: return fail(tensor_text() + " has " + found + " where its dtype, shape or data_offsets should be");
    }
  }

  bool metadata_done() {
    state_ = State::top;
    in_metadata_key_ = false;
    return true;
  }

  bool top_key(std::string& name) {
    in_metadata_key_ = name == "__metadata__";
    if (in_metadata_key_) {
      if (metadata_seen_) return fail("it has __metadata__ twice");
      metadata_seen_ = true;
      return true;
    }
    if (header.entries.size() >= kMaxSafetensorsTensors) {
      return fail("it lists more than " + std::to_string(kMaxSafetensorsTensors) + " tensors");
    }
    pending_ = Pending{};
    pending_.entry.name = std::move(name);
    return true;
  }

  bool tensor_key(const std::string& name) {
    bool* seen = nullptr;
    if (name == "dtype") seen = &pending_.has_dtype, field_ = Field::dtype;
    if (name == "shape") seen = &pending_.has_shape, field_ = Field::shape;
    if (name == "data_offsets") seen = &pending_.has_offsets, field_ = Field::offsets;
    // An unknown field could change what the bytes mean, so it is not passed over.
    if (seen == nullptr) return fail(tensor_text() + " has the unknown field " + printable(name));
    if (*seen) return fail(tensor_text() + " has " + printable(name) + " twice");
    *seen = true;
    return true;
  }

  bool dimension(uint64_t value) {
    if (pending_.rank >= kMaxSafetensorsRank) {
      return fail(tensor_text() + " has more than " + std::to_string(kMaxSafetensorsRank) + " dimensions");
    }
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return fail(tensor_text() + " has the dimension " + std::to_string(value));
    }
    pending_.dims[static_cast<size_t>(pending_.rank++)] = static_cast<int64_t>(value);
    return true;
  }

  bool finish_tensor() {
    if (!pending_.has_dtype || !pending_.has_shape || !pending_.has_offsets) {
      return fail(tensor_text() + " lacks its " +
                  (!pending_.has_dtype ? "dtype" : (!pending_.has_shape ? "shape" : "data_offsets")));
    }
    return check_range() && check_size();
  }

  // For every dtype, known or not.
  bool check_range() {
    const SafetensorsEntry& e = pending_.entry;
    if (e.begin > e.end) return fail(tensor_text() + " has " + offsets_text(e) + ", which end before they begin");
    if (e.end > data_bytes_) {
      return fail(tensor_text() + " has " + offsets_text(e) + " but the file holds only " +
                  std::to_string(data_bytes_) + " bytes of data");
    }
    return true;
  }

  bool check_size() {
    SafetensorsEntry& e = pending_.entry;
    // Zero dimensions count as one here, so that strides made from this shape cannot overflow either.
    int64_t bound = 1;
    bool empty = false;
    for (int i = 0; i < pending_.rank; ++i) {
      const int64_t d = pending_.dims[static_cast<size_t>(i)];
      empty |= d == 0;
      if (d > 1 && bound > std::numeric_limits<int64_t>::max() / 64 / d) {
        return fail(tensor_text() + " has shape " + shape_text(pending_) + ", whose size exceeds 63 bits");
      }
      bound *= std::max<int64_t>(d, 1);
    }
    const KnownDType* known = known_dtype(e.dtype_name);
    if (known == nullptr) {
      e.skip_reason = "unknown dtype " + printable(e.dtype_name);
      return keep();
    }
    const auto bits = static_cast<uint64_t>(empty ? 0 : bound) * static_cast<uint64_t>(known->bits);
    if (bits % 8 != 0 || e.end - e.begin != bits / 8) {
      return fail(tensor_text() + " has " + offsets_text(e) + " (" + std::to_string(e.end - e.begin) + " bytes) but " +
                  e.dtype_name + " of shape " + shape_text(pending_) + " needs " + std::to_string((bits + 7) / 8));
    }
    if (!known->dtype) {
      e.skip_reason = "unsupported dtype " + e.dtype_name;
    } else if (pending_.rank > kMaxRank) {
      e.skip_reason = "rank " + std::to_string(pending_.rank) + " is above " + std::to_string(kMaxRank);
    } else {
      e.dtype = known->dtype;
      e.shape = Shape(std::span<const int64_t>(pending_.dims.data(), static_cast<size_t>(pending_.rank)));
    }
    return keep();
  }

  bool keep() {
    header.entries.push_back(std::move(pending_.entry));
    return true;
  }

  std::string_view path_;
  uint64_t data_bytes_;
  State state_ = State::start;
  Field field_ = Field::none;
  bool in_metadata_key_ = false, metadata_seen_ = false;
  std::string metadata_key_;
  Pending pending_;
};

// Names are unique: a second entry of a name would win in one reader and lose in another.
Status check_names(const SafetensorsHeader& header, std::string_view path) {
  std::vector<std::string_view> names;
  names.reserve(header.entries.size());
  for (const SafetensorsEntry& e : header.entries) names.push_back(e.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return header_error(path, "it lists tensor " + printable(*twice) + " twice");
  return {};
}

// Sorts by place and checks that the tensors tile the data.
Status check_tiling(SafetensorsHeader& header, uint64_t data_bytes, std::string_view path) {
  std::sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t reached = 0;
  const SafetensorsEntry* last = nullptr;
  for (const SafetensorsEntry& e : header.entries) {
    if (e.begin < reached) {
      return header_error(path, "tensor " + printable(e.name) + " with " + offsets_text(e) + " overlaps tensor " +
                                    printable(last->name) + " with " + offsets_text(*last));
    }
    if (e.begin > reached) {
      return header_error(path, "tensor " + printable(e.name) + " with " + offsets_text(e) + " leaves a gap of " +
                                    std::to_string(e.begin - reached) + " bytes before it");
    }
    reached = e.end;
    last = &e;
  }
  if (reached != data_bytes) {
    return header_error(path, "its tensors end at byte " + std::to_string(reached) +
                                  " of the data but the file holds " + std::to_string(data_bytes) + " bytes of data");
  }
  return {};
}

Result<uint64_t> header_length(std::span<const std::byte> file, std::string_view path) {
  const auto at = [&](size_t i) { return static_cast<uint64_t>(file[i]); };
  uint64_t length = 0;
  for (size_t i = 0; file.size() >= 8 && i < 8; ++i) length |= at(i) << (8 * i);
  if (file.size() < 10 || at(8) != '{') {
    const FileLook look = look_at(file);
    if (look.kind == FileKind::unknown || look.kind == FileKind::safetensors) {
      return header_error(path, "it has no safetensors header (" + std::to_string(file.size()) + " bytes)");
    }
    return header_error(path, "it looks like " + look.looks_like, look.mend);
  }
  if (length > kMaxSafetensorsHeader) {
    return header_error(path, "its header would take " + std::to_string(length) + " bytes; the limit is " +
                                  std::to_string(kMaxSafetensorsHeader));
  }
  if (length > file.size() - 8) {
    return header_error(path, "its header would take " + std::to_string(length) + " bytes but the file holds only " +
                                  std::to_string(file.size() - 8) + " after the length");
  }
  return length;
}

Result<SafetensorsHeader> parse_json(std::span<const std::byte> json, uint64_t data_bytes, std::string_view path) {
  const auto* text = reinterpret_cast<const char*>(json.data());
  // The JSON reader takes a NUL byte for the end of its input, so what follows one would go unread.
  if (std::memchr(text, 0, json.size()) != nullptr) return header_error(path, "its header holds a NUL byte");
  HeaderEvents events(path, data_bytes);
  try {
    const bool parsed = nlohmann::json::sax_parse(text, text + json.size(), &events);
    if (events.error) return std::move(*events.error);
    if (!parsed) return header_error(path, "its header is not valid JSON");
  } catch (const std::exception& e) {
    return header_error(path, std::string("its header cannot be read: ") + e.what());
  }
  return std::move(events.header);
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> file, std::string_view path) {
  CHIARO_ASSIGN(const uint64_t length, header_length(file, path));
  const uint64_t data_bytes = file.size() - 8 - length;
  CHIARO_ASSIGN(SafetensorsHeader header, parse_json(file.subspan(8, length), data_bytes, path));
  CHIARO_TRY(check_names(header, path));
  CHIARO_TRY(check_tiling(header, data_bytes, path));
  header.data_start = 8 + length;
  return header;
}

std::string_view safetensors_dtype_name(DType dtype) {
  const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const KnownDType& k) { return k.dtype == dtype; });
  return found == kKnown.end() ? std::string_view() : found->name;
}

}  // namespace chiaro
