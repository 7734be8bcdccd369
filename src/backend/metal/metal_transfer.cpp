#include "backend/metal/metal_transfer.h"

#include <algorithm>
#include <cstring>

#include "backend/metal/metal_error.h"

namespace chiaro {
namespace {

constexpr int64_t kStagingBytes = int64_t{8} << 20;
constexpr int64_t kBlitUnit = 4;  // offsets and sizes of a blit are multiples of it

}  // namespace

MetalTransfer::~MetalTransfer() {
  const MetalPool pool;
  if (staging_) queue_.residency.remove({staging_.get()});
}

Status MetalTransfer::need_staging() {
  if (staging_) return {};
  staging_ = NS::TransferPtr(queue_.device.newBuffer(
      kStagingBytes, MTL::ResourceStorageModeShared | MTL::ResourceHazardTrackingModeUntracked));
  if (!staging_) return metal_nil(queue_.name, "staging buffer");
  queue_.residency.add(*staging_.get());
  return {};
}

Status MetalTransfer::blit(const MetalPlace& from, const MetalPlace& to, NS::UInteger bytes) {
  queue_.residency.settle();
  MTL::CommandBuffer* const buffer = queue_.queue.commandBufferWithUnretainedReferences();
  if (buffer == nullptr) return metal_nil(queue_.name, "command buffer");
  MTL::BlitCommandEncoder* const encoder = buffer->blitCommandEncoder();
  if (encoder == nullptr) return metal_nil(queue_.name, "encoder");
  encoder->copyFromBuffer(from.buffer, from.offset, to.buffer, to.offset, bytes);
  encoder->endEncoding();
  buffer->commit();
  buffer->waitUntilCompleted();
  if (buffer->status() != MTL::CommandBufferStatusError) return {};
  return command_buffer_error(buffer->error(), queue_.name, "a copy");
}

// Piece by piece: what is there comes down (into `down`, or as the edges of a piece that is not whole units), what goes
// up is laid over it and goes back.
Status MetalTransfer::stage(MetalBuffer& buffer, int64_t offset, std::span<std::byte> down,
                            std::span<const std::byte> up) {
  const MetalPool pool;
  const std::lock_guard lock(mutex_);
  CHIARO_TRY(need_staging());
  auto* const host = static_cast<std::byte*>(staging_->contents());
  const auto all = static_cast<int64_t>(std::max(down.size(), up.size()));
  for (int64_t at = 0; at < all;) {
    const int64_t begin = (offset + at) / kBlitUnit * kBlitUnit;
    const int64_t bytes = std::min(all - at, kStagingBytes - kBlitUnit), edge = offset + at - begin;
    const int64_t whole = (edge + bytes + kBlitUnit - 1) / kBlitUnit * kBlitUnit;
    CHIARO_ASSIGN(const MetalPlace place, buffer.place(begin, whole));
    const MetalPlace stage{staging_.get(), 0};
    if (!down.empty() || whole != bytes) CHIARO_TRY(blit(place, stage, static_cast<NS::UInteger>(whole)));
    const auto from = static_cast<size_t>(at), size = static_cast<size_t>(bytes);
    if (!down.empty()) std::memcpy(down.data() + from, host + edge, size);
    if (!up.empty()) {
      std::memcpy(host + edge, up.data() + from, size);
      CHIARO_TRY(blit(stage, place, static_cast<NS::UInteger>(whole)));
    }
    at += bytes;
  }
  return {};
}

Status MetalTransfer::upload(MetalBuffer& to, int64_t offset, std::span<const std::byte> from) {
  if (from.empty()) return {};
  if (to.host() == nullptr) return stage(to, offset, {}, from);
  std::memcpy(to.host() + offset, from.data(), from.size());
  return {};
}

Status MetalTransfer::download(std::span<std::byte> to, MetalBuffer& from, int64_t offset) {
  if (to.empty()) return {};
  if (from.host() == nullptr) return stage(from, offset, to, {});
  std::memcpy(to.data(), from.host() + offset, to.size());
  return {};
}

Status MetalTransfer::copy(MetalBuffer& to, int64_t to_offset, MetalBuffer& from, int64_t from_offset, int64_t bytes) {
  if (bytes <= 0) return {};
  if (to.host() != nullptr && from.host() != nullptr) {
    std::memmove(to.host() + to_offset, from.host() + from_offset, static_cast<size_t>(bytes));
    return {};
  }
  std::vector<std::byte> piece(static_cast<size_t>(std::min(bytes, kStagingBytes - kBlitUnit)));
  for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(piece.size())) {
    const std::span<std::byte> part =
        std::span(piece).first(static_cast<size_t>(std::min<int64_t>(bytes - at, static_cast<int64_t>(piece.size()))));
    CHIARO_TRY(download(part, from, from_offset + at));
    CHIARO_TRY(upload(to, to_offset + at, part));
  }
  return {};
}

}  // namespace chiaro
