// The order of a conversion: open, choose types, write the header, then tensor after tensor.
#include "weights/convert.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/utf8_path.h"
#include "weights/convert_rows.h"
#include "weights/convert_types.h"
#include "weights/gguf.h"
#include "weights/gguf_header.h"
#include "weights/model_source.h"
#include "weights/printable.h"
#include "weights/safetensors_stream.h"

namespace chiaro {
namespace {

struct Piece {  // rows of the result
  TensorDataPtr tensor, scale;
};
struct Planned {
  std::vector<Piece> pieces;
  ConvertedTensor result;
};

// The file being written, whichever kind.
class Output {
 public:
  virtual ~Output() = default;
  virtual Status append(std::span<const std::byte> bytes) = 0;
  virtual Status commit() = 0;
};

class GgufOutput final : public Output {
 public:
  explicit GgufOutput(GgufWriter writer) : writer_(std::move(writer)) {}
  Status append(std::span<const std::byte> bytes) override { return writer_.append(bytes); }
  Status commit() override { return writer_.commit(); }

 private:
  GgufWriter writer_;
};

class SafetensorsOutput final : public Output {
 public:
  explicit SafetensorsOutput(SafetensorsStream stream) : stream_(std::move(stream)) {}
  Status append(std::span<const std::byte> bytes) override { return stream_.write(bytes); }
  Status commit() override { return stream_.commit(); }

 private:
  SafetensorsStream stream_;
};

// llama.cpp's number for a file that is mostly of this type (LlamaFileType of the gguf package); -1: none.
int file_type(DType type) {
  switch (type) {
    case DType::f32: return 0;
    case DType::f16: return 1;
    case DType::q4_0: return 2;
    case DType::q4_1: return 3;
    case DType::q8_0: return 7;
    case DType::q5_0: return 8;
    case DType::q5_1: return 9;
    case DType::q2_k: return 10;
    case DType::q3_k: return 11;
    case DType::q4_k: return 14;
    case DType::q5_k: return 16;
    case DType::q6_k: return 18;
    case DType::iq4_nl: return 25;
    case DType::iq4_xs: return 30;
    case DType::bf16: return 32;
    case DType::mxfp4: return 38;
    case DType::nvfp4: return 39;
    default: return -1;
  }
}

GgufMetadata gguf_metadata(const ConvertRequest& request, const ConvertInput& source) {
  constexpr std::string_view kType = "general.file_type", kVersion = "general.quantization_version";
  constexpr uint32_t kBlockVersion = 2;  // of ggml's block layouts
  GgufMetadata all;
  for (const auto& [key, value] : source.gguf.values()) {
    if (key != kVersion && (key != kType || !request.type)) all.add(key, value);
  }
  if (!request.architecture.empty()) all.add("general.architecture", request.architecture);
  all.add(std::string(kVersion), kBlockVersion);
  if (request.type && file_type(*request.type) >= 0) {
    all.add(std::string(kType), static_cast<uint32_t>(file_type(*request.type)));
  }
  for (const auto& [key, value] : source.metadata) {
    all.add(key.starts_with("general.") ? key : std::string(kFromSafetensors) + key, value);
  }
  return all;
}

// Keys that say how a GGUF file is laid out, and nothing about the model.
bool of_layout(std::string_view key) {
  return key == "general.file_type" || key == "general.quantization_version" || key == kGgufAlignmentKey ||
         key.starts_with(kGgufShapeKey);
}

std::map<std::string, std::string> safetensors_metadata(const ConvertInput& source, ConvertReport& report) {
  std::map<std::string, std::string> all = source.metadata;
  for (const auto& [key, value] : source.gguf.values()) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && utf16_from_utf8(*text) && utf16_from_utf8(key)) {
      all.emplace(key.starts_with(kFromSafetensors) ? key.substr(kFromSafetensors.size()) : key, *text);
    } else if (!of_layout(key)) {
      report.metadata_lost.push_back(key);
    }
  }
  all.emplace("format", "pt");  // what transformers looks for
  return all;
}

// The scale of an FP8 or INT8 weight, by either spelling; it may be empty.
TensorDataPtr scale_of(const WeightMap& weights, const TensorData& tensor) {
  const DType dtype = tensor.desc.dtype;
  if (dtype != DType::f8_e4m3 && dtype != DType::f8_e5m2 && dtype != DType::i8) return nullptr;
  if (TensorDataPtr after = weights.find(tensor.name + "_scale")) return after;
  constexpr std::string_view kWeight = ".weight";
  if (!tensor.name.ends_with(kWeight)) return nullptr;
  return weights.find(tensor.name.substr(0, tensor.name.size() - kWeight.size()) + ".scale_weight");
}

Status check_scale(const TensorData& tensor, const TensorData& scale) {
  const int64_t count = scale.desc.count();
  const int64_t rows = tensor.desc.shape.rank() == 0 ? 1 : tensor.desc.shape[0];
  if (is_float(scale.desc.dtype) && (count <= 1 || count == rows)) return {};
  return Error{ErrorCode::unsupported,
               "scale " + printable(scale.name) + " " + scale.desc.text() + " is not understood",
               "its weight is " + tensor.desc.text() + ": one number, or one for each row, would be",
               "use a copy of the model in F16 or BF16", ""};
}

class Conversion {
 public:
  Conversion(const ConvertRequest& request, ConvertKind kind, TypeChooser chooser, ConvertInput source)
      : request_(request), kind_(kind), chooser_(std::move(chooser)), source_(std::move(source)) {}

  Result<ConvertReport> run() {
    report_.skipped = source_.weights.skipped();
    report_.others = source_.others;
    CHIARO_TRY(plan());
    CHIARO_ASSIGN(const std::unique_ptr<Output> output, open());
    RowConverter rows(*request_.pool, request_.cancel, request_.report_error);
    int64_t done = 0;
    const auto sink = [&](std::span<const std::byte> bytes) -> Status {
      CHIARO_TRY(output->append(bytes));
      done += static_cast<int64_t>(bytes.size());
      if (request_.on_progress) request_.on_progress(done, report_.bytes);
      return {};
    };
    for (Planned& p : planned_) {
      CHIARO_TRY(write(p, rows, sink));
      report_.tensors.push_back(std::move(p.result));
    }
    CHIARO_TRY(output->commit());
    return std::move(report_);
  }

 private:
  Status write(Planned& p, RowConverter& rows, const RowConverter::Sink& sink) {
    double error = 0, square = 0;  // sums over the pieces
    for (const Piece& piece : p.pieces) {
      if (p.result.to == piece.tensor->desc.dtype && piece.scale == nullptr) {
        CHIARO_TRY(rows.copy(*piece.tensor, sink));
        continue;
      }
      CHIARO_TRY(rows.run(*piece.tensor, piece.scale.get(), p.result, sink));
      const auto count = static_cast<double>(piece.tensor->desc.count());
      error += p.result.rmse * p.result.rmse * count;
      square += p.result.rms * p.result.rms * count;
    }
    const auto count = static_cast<double>(std::max<int64_t>(element_count(p.result.shape), 1));
    p.result.rmse = std::sqrt(error / count);
    p.result.rms = std::sqrt(square / count);
    return {};
  }

  // The tensors that make up the one named `name`: itself, and those whose rows follow.
  Result<std::vector<TensorDataPtr>> parts_of(const std::string& name) const {
    std::vector<TensorDataPtr> parts{source_.weights.find(name)};
    const auto more = source_.more_rows.find(name);
    if (more == source_.more_rows.end()) return parts;
    for (const TensorDataPtr& part : more->second) {
      Shape a = parts[0]->desc.shape, b = part->desc.shape;
      a[0] = b[0] = 0;
      if (a == b) {
        parts.push_back(part);
        continue;
      }
      return Error{ErrorCode::bad_file, "tensors that belong together do not fit",
                   parts[0]->name + " " + parts[0]->desc.text() + ", " + part->name + " " + part->desc.text(),
                   "use a complete copy of the model", ""};
    }
    return parts;
  }

  Status plan() {
    std::set<std::string> merged;  // scales that go into their weights
    for (const std::string& name : source_.weights.names()) {
      CHIARO_ASSIGN(const std::vector<TensorDataPtr> parts, parts_of(name));
      const DType from = parts[0]->desc.dtype;
      Planned p;
      p.result.name = name;
      p.result.shape = parts[0]->desc.shape;
      for (size_t i = 1; i < parts.size(); ++i) p.result.shape[0] += parts[i]->desc.shape[0];
      const bool number = is_float(from) || is_block(from) || scale_of(source_.weights, *parts[0]) != nullptr;
      const auto choice = chooser_.choose(name, p.result.shape, from, number);
      p.result.from = from;
      p.result.to = choice.first;
      p.result.reason = choice.second;
      for (const TensorDataPtr& part : parts) {
        TensorDataPtr scale = scale_of(source_.weights, *part);
        if (p.result.to == part->desc.dtype) scale = nullptr;  // stays beside its weight
        if (scale != nullptr) {
          CHIARO_TRY(check_scale(*part, *scale));
          merged.insert(scale->name);
        }
        p.result.source_bytes += part->desc.dense_bytes();
        p.pieces.push_back({part, std::move(scale)});
      }
      p.result.bytes = dense(p.result.to, p.result.shape).dense_bytes();
      planned_.push_back(std::move(p));
    }
    // ComfyUI's mark of a file whose FP8 weights have scales.
    if (!merged.empty()) merged.insert("scaled_fp8");
    std::erase_if(planned_, [&](const Planned& p) { return merged.contains(p.result.name); });
    merged.erase("scaled_fp8");
    report_.scales.assign(merged.begin(), merged.end());
    for (const Planned& p : planned_) {
      report_.source_bytes += p.result.source_bytes;
      report_.bytes += p.result.bytes;
    }
    if (!planned_.empty()) return {};
    return Error{ErrorCode::bad_file, printable_path(path_to_utf8(request_.in)) + " holds no tensors to convert", "",
                 "pass a model", ""};
  }

  Result<std::unique_ptr<Output>> open() {
    if (kind_ == ConvertKind::gguf) {
      std::vector<GgufTensorPlan> plans;
      for (const Planned& p : planned_) {
        const bool joined = p.result.reason == ConvertReason::joined;
        plans.push_back({p.result.name, p.result.to, p.result.shape, joined ? joined_rows(p.result.shape) : Shape()});
      }
      CHIARO_ASSIGN(GgufWriter writer,
                    GgufWriter::create(request_.out, gguf_metadata(request_, source_), std::move(plans)));
      return std::unique_ptr<Output>(std::make_unique<GgufOutput>(std::move(writer)));
    }
    std::vector<PlannedTensor> plans;
    for (const Planned& p : planned_) plans.push_back({p.result.name, dense(p.result.to, p.result.shape)});
    CHIARO_ASSIGN(SafetensorsStream stream,
                  SafetensorsStream::create(request_.out, std::move(plans), safetensors_metadata(source_, report_)));
    // Wide types come first there.
    std::map<std::string_view, size_t> place;
    for (size_t i = 0; i < stream.order().size(); ++i) place.emplace(stream.order()[i].name, i);
    std::sort(planned_.begin(), planned_.end(),
              [&](const Planned& a, const Planned& b) { return place.at(a.result.name) < place.at(b.result.name); });
    return std::unique_ptr<Output>(std::make_unique<SafetensorsOutput>(std::move(stream)));
  }

  const ConvertRequest& request_;
  ConvertKind kind_;
  TypeChooser chooser_;
  ConvertInput source_;
  std::vector<Planned> planned_;
  ConvertReport report_;
};

}  // namespace

Result<ConvertReport> convert_input(const ConvertRequest& request, ConvertInput input) {
  CHIARO_ASSIGN(const ConvertKind kind, convert_kind(request.out));
  CHIARO_ASSIGN(TypeChooser chooser, TypeChooser::make(request, kind));
  return Conversion(request, kind, std::move(chooser), std::move(input)).run();
}

Result<ConvertReport> convert_model(const ConvertRequest& request) {
  CHIARO_ASSIGN(const ConvertKind kind, convert_kind(request.out));  // what is wrong with the request comes first
  CHIARO_TRY(TypeChooser::make(request, kind));
  CHIARO_ASSIGN(ModelComponent source, open_weights(request.in));
  ConvertInput input{
      std::move(source.weights), {}, std::move(source.metadata), std::move(source.gguf), std::move(source.others)};
  return convert_input(request, std::move(input));
}

}  // namespace chiaro
