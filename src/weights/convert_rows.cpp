#include "weights/convert_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/block_formats.h"

namespace chiaro {
namespace {

constexpr int64_t kChunk = 65'536;   // elements; whole blocks of every type
constexpr int64_t kGroup = 64;       // chunks that are encoded before they are written
constexpr int64_t kCopy = 16 << 20;  // bytes between two looks at the cancel flag

// The largest number of a plain type; infinite where f32 has none that does not fit.
float largest(DType type) {
  switch (type) {
    case DType::f16: return 65504.0f;
    case DType::f8_e4m3: return 448.0f;
    case DType::f8_e5m2: return 57344.0f;
    default: return std::numeric_limits<float>::infinity();
  }
}

int64_t bytes_of(DType type, int64_t elements) {
  return elements / traits(type).block_elements * traits(type).block_bytes;
}

}  // namespace

RowConverter::RowConverter(ThreadPool& pool, const std::atomic<bool>* cancel, bool report_error)
    : pool_(pool), cancel_(cancel), report_error_(report_error), values_(static_cast<size_t>(pool.threads())) {}

Status RowConverter::check_cancel() const {
  if (cancel_ == nullptr || !cancel_->load()) return {};
  return Error{ErrorCode::cancelled, "the conversion was stopped", "", "nothing was written", ""};
}

RowConverter::Piece RowConverter::convert(const Job& job, int64_t first, int64_t count, int worker, std::byte* out) {
  std::vector<float>& buffer = values_[static_cast<size_t>(worker)];
  buffer.resize(static_cast<size_t>(2 * kChunk));
  float* values = buffer.data();
  decode_blocks(job.tensor->desc.dtype, job.tensor->bytes, first, count, values);
  Piece piece;
  const float most = largest(job.to);
  for (int64_t i = 0; i < count; ++i) {
    float& v = values[i];
    if (!job.scales.empty()) v *= job.scales[static_cast<size_t>((first + i) / job.per_scale)];
    if (!std::isfinite(v)) {
      ++piece.non_finite;
    } else if (std::fabs(v) > most) {
      ++piece.clamped;
    }
  }
  float* encoded = values;
  if (piece.clamped > 0) {
    encoded = values + kChunk;
    for (int64_t i = 0; i < count; ++i) {
      encoded[i] = std::isfinite(values[i]) ? std::clamp(values[i], -most, most) : values[i];
    }
  }
  encode_blocks(job.to, encoded, count, out);
  if (!report_error_) return piece;
  float* back = values + kChunk;
  decode_blocks(job.to, out, 0, count, back);
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    const double error = double{back[i]} - double{values[i]};
    piece.error += error * error;
    piece.square += double{values[i]} * double{values[i]};
  }
  return piece;
}

Status RowConverter::run(const TensorData& tensor, const TensorData* scale, ConvertedTensor& result, const Sink& sink) {
  const int64_t total = tensor.desc.count();
  Job job{&tensor, {}, std::max<int64_t>(total, 1), result.to};
  if (scale != nullptr && scale->desc.count() > 0) {
    job.scales.resize(static_cast<size_t>(scale->desc.count()));
    decode_blocks(scale->desc.dtype, scale->bytes, 0, scale->desc.count(), job.scales.data());
    job.per_scale = std::max<int64_t>(total / scale->desc.count(), 1);
  }
  out_.resize(static_cast<size_t>(kGroup * bytes_of(DType::f32, kChunk)));
  double error = 0, square = 0;
  for (int64_t start = 0; start < total; start += kGroup * kChunk) {
    const int64_t count = std::min(total - start, kGroup * kChunk);
    const int64_t chunks = (count + kChunk - 1) / kChunk;
    pieces_.assign(static_cast<size_t>(chunks), {});
    pool_.parallel_for(
        chunks,
        [&](int64_t chunk, int worker) {
          const int64_t at = chunk * kChunk;
          pieces_[static_cast<size_t>(chunk)] =
              convert(job, start + at, std::min(kChunk, count - at), worker, out_.data() + bytes_of(job.to, at));
        },
        cancel_);
    CHIARO_TRY(check_cancel());
    for (const Piece& piece : pieces_) {  // in order, so that sums do not depend on threads
      result.clamped += piece.clamped;
      result.non_finite += piece.non_finite;
      error += piece.error;
      square += piece.square;
    }
    CHIARO_TRY(sink(std::span(out_).first(static_cast<size_t>(bytes_of(job.to, count)))));
  }
  if (total > 0) {
    result.rmse = std::sqrt(error / static_cast<double>(total));
    result.rms = std::sqrt(square / static_cast<double>(total));
  }
  return {};
}

Status RowConverter::copy(const TensorData& tensor, const Sink& sink) {
  const int64_t total = tensor.desc.dense_bytes();
  for (int64_t at = 0; at < total; at += kCopy) {
    CHIARO_TRY(check_cancel());
    CHIARO_TRY(sink({tensor.bytes + at, static_cast<size_t>(std::min(kCopy, total - at))}));
  }
  return {};
}

}  // namespace chiaro
