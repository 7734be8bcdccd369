#include "weights/gguf_layout.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "weights/printable.h"

namespace chiaro {
namespace {

Error refuse(std::string_view path, std::string why,
             std::string_view mend = "the file is damaged or cut: get it again and compare its size with the source") {
  const std::string shown = printable_path(path);
  return {ErrorCode::bad_file, "GGUF reader refuses " + shown, std::move(why), std::string(mend), shown};
}

std::string entry_text(const GgufEntry& entry) {
  return "tensor " + printable(entry.name) + " at offset " + std::to_string(entry.offset) + " of the data";
}

Status check_names(const GgufHeader& header, std::string_view path) {
  std::vector<std::string_view> names;
  names.reserve(header.entries.size());
  for (const GgufEntry& e : header.entries) names.push_back(e.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return refuse(path, "it lists tensor " + printable(*twice) + " twice");
  return {};
}

// For every type, known or not.
Status check_ranges(const GgufHeader& header, uint64_t data_bytes, std::string_view path) {
  for (const GgufEntry& e : header.entries) {
    if (e.offset % header.alignment != 0) {
      return refuse(path,
                    entry_text(e) + " is not at a multiple of the alignment, " + std::to_string(header.alignment));
    }
    if (e.offset > data_bytes || e.bytes > data_bytes - e.offset) {
      return refuse(path, entry_text(e) + " takes " + std::to_string(e.bytes) + " bytes but the file holds only " +
                              std::to_string(data_bytes) + " bytes of data");
    }
  }
  return {};
}

// No two share bytes, and nothing lies between them but padding. An unknown type has no known end: what follows it may
// begin anywhere.
Status check_tiling(GgufHeader& header, uint64_t data_bytes, std::string_view path) {
  std::vector<const GgufEntry*> sorted;
  sorted.reserve(header.entries.size());
  for (const GgufEntry& e : header.entries) sorted.push_back(&e);
  std::sort(sorted.begin(), sorted.end(), [](const GgufEntry* a, const GgufEntry* b) {
    return std::tie(a->offset, a->bytes, a->name) < std::tie(b->offset, b->bytes, b->name);
  });
  uint64_t reached = 0;
  const GgufEntry* last = nullptr;
  for (const GgufEntry* e : sorted) {
    if (e->offset < reached) {
      return refuse(path, entry_text(*e) + " overlaps " + entry_text(*last) + ", which takes " +
                              std::to_string(last->bytes) + " bytes");
    }
    const bool open = last != nullptr && gguf_tensor_type(last->type_code) == nullptr;
    if (!open && e->offset > gguf_padded(reached, header.alignment)) {
      return refuse(path, entry_text(*e) + " leaves a gap: what is before it ends at " + std::to_string(reached));
    }
    reached = e->offset + e->bytes;
    last = e;
  }
  const bool open = last != nullptr && gguf_tensor_type(last->type_code) == nullptr;
  const uint64_t end = gguf_padded(reached, header.alignment);
  header.unused_bytes = !open && data_bytes > end ? data_bytes - end : 0;
  return {};
}

Status restore_shape(const GgufHeader& header, GgufEntry& entry, std::string_view path) {
  const std::string key = std::string(kGgufShapeKey) + entry.name;
  const GgufValue* value = header.metadata.find(key);
  if (value == nullptr || !entry.dtype) return {};
  const auto* list = std::get_if<GgufArray>(value);
  const auto wrong = [&](const std::string& why) {
    return refuse(path, "metadata " + printable(key) + " " + why, "use another copy of the model");
  };
  if (list == nullptr || list->count > kMaxRank) {
    return wrong("is no shape of at most " + std::to_string(kMaxRank) + " dimensions: " + gguf_value_text(*value));
  }
  const auto dims = list->integers();
  if (!dims) return wrong("is no list of whole numbers");
  const Shape shape{std::span<const int64_t>(*dims)};
  const auto count = checked_element_count(shape);
  if (!count.ok() || *count != element_count(entry.shape)) {
    return wrong("is " + shape.text() + ", but the tensor of shape " + entry.shape.text() + " holds " +
                 std::to_string(element_count(entry.shape)) + " numbers");
  }
  // As for shapes in the file: strides must not overflow where another dimension is 0.
  int64_t bound = 1;
  for (const int64_t d : shape) {
    if (d > 1 && bound > std::numeric_limits<int64_t>::max() / 64 / d) return wrong("is too large");
    bound *= std::max<int64_t>(d, 1);
  }
  entry.shape = shape;
  return {};
}

}  // namespace

Status check_gguf_layout(GgufHeader& header, uint64_t file_bytes, std::string_view path) {
  CHIARO_TRY(check_names(header, path));
  const uint64_t end = header.data_start;  // <= file_bytes, far below 2^63
  header.data_start = gguf_padded(end, header.alignment);
  if (header.data_start > file_bytes) {
    if (!header.entries.empty()) {
      return refuse(path, "its data would begin at byte " + std::to_string(header.data_start) +
                              " but the file holds only " + std::to_string(file_bytes) + " bytes");
    }
    header.data_start = file_bytes;
  }
  const uint64_t data_bytes = file_bytes - header.data_start;
  CHIARO_TRY(check_ranges(header, data_bytes, path));
  CHIARO_TRY(check_tiling(header, data_bytes, path));
  for (GgufEntry& entry : header.entries) CHIARO_TRY(restore_shape(header, entry, path));
  return {};
}

}  // namespace chiaro
