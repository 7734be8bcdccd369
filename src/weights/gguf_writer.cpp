// Writing of GGUF files: the header first, from the plans; then the tensors as they come.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/utf8_path.h"
#include "weights/gguf.h"
#include "weights/gguf_layout.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

constexpr int kFileRank = 4;  // ggml reads no more

Error write_refused(const std::string& where, ErrorCode code, std::string why, std::string mend) {
  return {code, "GGUF writer refuses " + printable_path(where), std::move(why), std::move(mend), printable_path(where)};
}

uint64_t dense_bytes(const GgufTensorPlan& plan) {
  return static_cast<uint64_t>(dense(plan.dtype, plan.shape).dense_bytes());  // the stored shape has as many elements
}

// The shape as the file has it, row-major.
Shape file_shape(const GgufTensorPlan& plan) {
  const Shape& shape = plan.stored.empty() ? plan.shape : plan.stored;
  if (shape.rank() <= kFileRank) return shape;
  Shape joined = Dims::filled(kFileRank, 1);
  const int extra = shape.rank() - kFileRank;
  for (int i = 0; i < shape.rank(); ++i) joined[std::max(i - extra, 0)] *= shape[i];
  return joined;
}

Status check_plans(const std::string& where, const std::vector<GgufTensorPlan>& plans) {
  std::vector<std::string_view> names;
  for (const GgufTensorPlan& plan : plans) {
    const std::string tensor = "tensor " + printable(plan.name);
    if (plan.name.size() > kMaxGgufNameBytes) {
      return write_refused(where, ErrorCode::usage,
                           tensor + " has a name of " + std::to_string(plan.name.size()) + " bytes",
                           "use a name of at most " + std::to_string(kMaxGgufNameBytes));
    }
    if (gguf_tensor_type(plan.dtype) == nullptr) {
      return write_refused(where, ErrorCode::dtype,
                           tensor + " is " + std::string(dtype_name(plan.dtype)) + ", which the format does not know",
                           "convert it to f16 or a block type first");
    }
    if (!plan.stored.empty() && element_count(plan.stored) != element_count(plan.shape)) {
      return write_refused(where, ErrorCode::usage,
                           tensor + " of shape " + plan.shape.text() + " is to be stored as " + plan.stored.text(),
                           "use a shape of as many elements");
    }
    const Shape shape = file_shape(plan);
    const int64_t row = shape.rank() == 0 ? 1 : shape[-1];
    if (row % traits(plan.dtype).block_elements != 0) {
      return write_refused(where, ErrorCode::dtype,
                           tensor + " " + dense(plan.dtype, plan.shape).text() + " has rows of " + std::to_string(row) +
                               " numbers, which blocks of " + std::to_string(traits(plan.dtype).block_elements) +
                               " do not divide",
                           "choose a type whose blocks divide the rows (q8_0 needs 32), or f16");
    }
    names.push_back(plan.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return write_refused(where, ErrorCode::usage, "two tensors are named " + printable(*twice),
                       "give them different names");
}

class HeaderText {
 public:
  template <class T>
  void number(T value) {
    std::array<char, sizeof(T)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    text_.append(bytes.data(), bytes.size());
  }
  void text(std::string_view value) {
    number(uint64_t{value.size()});
    text_ += value;
  }
  void key(std::string_view name, const GgufValue& value) {
    text(name);
    number(static_cast<uint32_t>(gguf_type_of(value)));
    std::visit([this](const auto& v) { put(v); }, value);
  }
  void tensor(const GgufTensorPlan& plan, uint64_t offset) {
    text(plan.name);
    const Shape shape = file_shape(plan);
    number(static_cast<uint32_t>(shape.rank()));
    for (int i = shape.rank() - 1; i >= 0; --i) number(static_cast<uint64_t>(shape[i]));
    number(gguf_tensor_type(plan.dtype)->code);
    number(offset);
  }
  std::string take() {
    text_.resize(gguf_padded(text_.size(), kDefaultGgufAlignment), '\0');
    return std::move(text_);
  }

 private:
  template <class T>
  void put(const T& value) {
    number(value);
  }
  void put(const bool& value) { number(static_cast<uint8_t>(value ? 1 : 0)); }
  void put(const std::string& value) { text(value); }
  void put(const GgufArray& list) {
    number(static_cast<uint32_t>(list.type));
    number(list.count);
    text_.append(reinterpret_cast<const char*>(list.bytes.data()), list.bytes.size());
  }
  std::string text_;
};

// Keys that say how the file is laid out are the writer's.
Result<GgufMetadata> complete(const std::string& where, const GgufMetadata& given,
                              const std::vector<GgufTensorPlan>& plans) {
  GgufMetadata all;
  for (const auto& [key, value] : given.values()) {
    if (key.empty() || key.size() > kMaxGgufNameBytes) {
      return write_refused(where, ErrorCode::usage, "a metadata key takes " + std::to_string(key.size()) + " bytes",
                           "use a key of 1 to " + std::to_string(kMaxGgufNameBytes));
    }
    // Of the file that this one was made from.
    if (key == kGgufAlignmentKey || key.starts_with(kGgufShapeKey)) continue;
    all.add(key, value);
  }
  for (const GgufTensorPlan& plan : plans) {
    if (plan.shape.rank() <= kFileRank && plan.stored.empty()) continue;
    std::vector<int32_t> dims;
    for (const int64_t d : plan.shape) {
      if (d > INT32_MAX) {
        return write_refused(where, ErrorCode::shape,
                             "tensor " + printable(plan.name) + " has a dimension of " + std::to_string(d),
                             "dimensions above four are stored with 31 bits");
      }
      dims.push_back(static_cast<int32_t>(d));
    }
    all.add(std::string(kGgufShapeKey) + plan.name, GgufArray::of_i32(dims));
  }
  return all;
}

}  // namespace

Result<GgufWriter> GgufWriter::create(const std::filesystem::path& path, GgufMetadata metadata,
                                      std::vector<GgufTensorPlan> plans) {
  const std::string where = path_to_utf8(path);
  CHIARO_TRY(check_plans(where, plans));
  CHIARO_ASSIGN(const GgufMetadata all, complete(where, metadata, plans));
  HeaderText header;
  header.number(uint32_t{0x46554747});  // "GGUF"
  header.number(uint32_t{3});
  header.number(uint64_t{plans.size()});
  header.number(uint64_t{all.values().size()});
  for (const auto& [key, value] : all.values()) header.key(key, value);
  uint64_t offset = 0;
  for (const GgufTensorPlan& plan : plans) {
    header.tensor(plan, offset);
    offset += gguf_padded(dense_bytes(plan), kDefaultGgufAlignment);
  }
  CHIARO_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHIARO_TRY(file.write(header.take()));
  GgufWriter writer(std::move(file), std::move(plans), where);
  CHIARO_TRY(writer.finish_tensors());
  return writer;
}

Status GgufWriter::finish_tensors() {
  while (current_ < plans_.size() && written_ == dense_bytes(plans_[current_])) {
    const std::string padding(gguf_padded(written_, kDefaultGgufAlignment) - written_, '\0');
    if (!padding.empty()) CHIARO_TRY(file_.write(padding));
    ++current_;
    written_ = 0;
  }
  return {};
}

Status GgufWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (current_ == plans_.size()) {
      return write_refused(where_, ErrorCode::usage, std::to_string(bytes.size()) + " bytes more than the tensors take",
                           "append each tensor's bytes once");
    }
    const uint64_t count = std::min<uint64_t>(bytes.size(), dense_bytes(plans_[current_]) - written_);
    CHIARO_TRY(file_.write(bytes.first(count)));
    written_ += count;
    bytes = bytes.subspan(count);
    CHIARO_TRY(finish_tensors());
  }
  return {};
}

Status GgufWriter::commit() {
  if (current_ == plans_.size()) return file_.commit();
  const GgufTensorPlan& plan = plans_[current_];
  file_.discard();
  return write_refused(where_, ErrorCode::usage,
                       "tensor " + printable(plan.name) + " has " + std::to_string(written_) + " of " +
                           std::to_string(dense_bytes(plan)) + " bytes",
                       "append the bytes of every tensor before commit");
}

Status save_gguf(const std::filesystem::path& path, std::span<const TensorDataPtr> tensors, GgufMetadata metadata) {
  std::vector<GgufTensorPlan> plans;
  for (const TensorDataPtr& t : tensors) plans.push_back({t->name, t->desc.dtype, t->desc.shape});
  CHIARO_ASSIGN(GgufWriter writer, GgufWriter::create(path, std::move(metadata), std::move(plans)));
  for (const TensorDataPtr& t : tensors) {
    CHIARO_TRY(writer.append(std::span(t->bytes, static_cast<size_t>(t->desc.dense_bytes()))));
  }
  return writer.commit();
}

}  // namespace chiaro
