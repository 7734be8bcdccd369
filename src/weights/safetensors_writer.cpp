// Writing of safetensors files.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/utf8_path.h"
#include "weights/printable.h"
#include "weights/safetensors.h"
#include "weights/safetensors_header.h"
#include "weights/safetensors_stream.h"

namespace chiaro {
namespace {

// The reference sorts by its own list of dtypes, from the end: wide before narrow, so that every tensor is aligned
// for its dtype when the data is.
int dtype_order(DType dtype) {
  switch (dtype) {
    case DType::f32: return 0;
    case DType::i32: return 1;
    case DType::bf16: return 2;
    case DType::f16: return 3;
    case DType::f8_e4m3: return 4;
    case DType::f8_e5m2: return 5;
    default: return 6;  // i8
  }
}

Error write_refused(const std::filesystem::path& path, ErrorCode code, std::string why, std::string mend) {
  return {code, "safetensors writer refuses \"" + path_to_utf8(path) + "\"", std::move(why), std::move(mend),
          path_to_utf8(path)};
}

Status check_tensors(const std::filesystem::path& path, const std::vector<PlannedTensor>& sorted) {
  std::vector<std::string_view> names;
  for (const PlannedTensor& t : sorted) {
    if (safetensors_dtype_name(t.desc.dtype).empty()) {
      return write_refused(path, ErrorCode::dtype,
                           "tensor " + printable(t.name) + " is " + std::string(dtype_name(t.desc.dtype)) +
                               ", which the format does not know",
                           "convert it to f16 first");
    }
    if (t.name == "__metadata__") {
      return write_refused(path, ErrorCode::usage, "a tensor is named __metadata__", "give it another name");
    }
    names.push_back(t.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return write_refused(path, ErrorCode::usage, "two tensors are named " + printable(*twice),
                       "give them different names");
}

// Throws nlohmann's type_error where a text is not UTF-8.
std::string header_text(const std::vector<PlannedTensor>& sorted, const std::map<std::string, std::string>& metadata) {
  using Json = nlohmann::json;
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + Json(metadata).dump();
  int64_t offset = 0;
  for (const PlannedTensor& t : sorted) {
    const int64_t end = offset + t.desc.dense_bytes();
    if (text.size() > 1) text += ",";
    text += Json(t.name).dump() + ":{\"dtype\":\"" + std::string(safetensors_dtype_name(t.desc.dtype)) +
            "\",\"shape\":" + t.desc.shape.text() + ",\"data_offsets\":[" + std::to_string(offset) + "," +
            std::to_string(end) + "]}";
    offset = end;
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

Result<SafetensorsStream> SafetensorsStream::create(const std::filesystem::path& path,
                                                    std::vector<PlannedTensor> tensors,
                                                    const std::map<std::string, std::string>& metadata) {
  std::vector<PlannedTensor> sorted = std::move(tensors);
  std::sort(sorted.begin(), sorted.end(), [](const PlannedTensor& a, const PlannedTensor& b) {
    return std::pair(dtype_order(a.desc.dtype), std::string_view(a.name)) <
           std::pair(dtype_order(b.desc.dtype), std::string_view(b.name));
  });
  CHIARO_TRY(check_tensors(path, sorted));
  std::string header;
  try {
    header = header_text(sorted, metadata);
  } catch (const nlohmann::json::exception&) {
    return write_refused(path, ErrorCode::usage, "a tensor name or a metadata text is not valid UTF-8",
                         "use UTF-8 text");
  }
  if (header.size() > kMaxSafetensorsHeader) {
    return write_refused(path, ErrorCode::usage, "its header would take " + std::to_string(header.size()) + " bytes",
                         "write fewer tensors or less metadata");
  }
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>((uint64_t{header.size()} >> (8 * i)) & 0xFF);
  int64_t total = 0;
  for (const PlannedTensor& t : sorted) total += t.desc.dense_bytes();
  CHIARO_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHIARO_TRY(file.write(length));
  CHIARO_TRY(file.write(header));
  return SafetensorsStream(std::move(file), std::move(sorted), total);
}

Status SafetensorsStream::write(std::span<const std::byte> bytes) {
  written_ += static_cast<int64_t>(bytes.size());
  if (written_ > total_) {
    return Error{ErrorCode::internal, "more bytes than the tensors have were written",
                 std::to_string(written_) + " of " + std::to_string(total_), "please report this", ""};
  }
  return file_.write(bytes);
}

Status SafetensorsStream::commit() {
  if (written_ != total_) {
    return Error{ErrorCode::internal, "a safetensors file is not complete",
                 std::to_string(written_) + " of " + std::to_string(total_) + " bytes were written",
                 "please report this", ""};
  }
  return file_.commit();
}

Status save_safetensors(const std::filesystem::path& path, std::span<const TensorDataPtr> tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<PlannedTensor> plan;
  std::map<std::string_view, const TensorData*> by_name;
  for (const TensorDataPtr& t : tensors) {
    plan.push_back({t->name, t->desc});
    by_name.emplace(t->name, t.get());
  }
  CHIARO_ASSIGN(SafetensorsStream file, SafetensorsStream::create(path, std::move(plan), metadata));
  for (const PlannedTensor& t : file.order()) {
    CHIARO_TRY(file.write(std::span(by_name.at(t.name)->bytes, static_cast<size_t>(t.desc.dense_bytes()))));
  }
  return file.commit();
}

}  // namespace chiaro
