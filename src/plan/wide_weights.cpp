#include "plan/wide_weights.h"

#include <array>
#include <cstring>
#include <utility>

namespace chiaro {
namespace {

// The bits of each of the 256 codes in f16 or bf16, which hold them exactly.
std::array<uint16_t, 256> wide_codes(DType from, DType to) {
  std::array<uint16_t, 256> table{};
  for (size_t code = 0; code < table.size(); ++code) {
    const auto byte = static_cast<std::byte>(code);
    std::byte wide[2];
    store_element(to, wide, 0, load_element(from, &byte, 0));
    std::memcpy(&table[code], wide, sizeof wide);
  }
  return table;
}

// Owns the wide bytes, and the narrow weight, so that no other takes its address while this is known by it.
struct WideWeight {
  TensorDataPtr narrow;
  Block elements;
};

Result<TensorDataPtr> widened(const std::shared_ptr<Allocator>& allocator, const TensorDataPtr& narrow,
                              const TensorDesc& view, int64_t offset, DType dtype) {
  const auto table = wide_codes(view.dtype, dtype);
  TensorData data;
  data.name = narrow->name + " as " + std::string(dtype_name(dtype));
  data.desc = dense(dtype, view.shape);
  CHIARO_ASSIGN(Block block, Block::make(allocator, static_cast<size_t>(data.desc.dense_bytes()), data.name));
  const std::byte* codes = narrow->bytes + offset;
  std::byte* to = block.data();
  for_each_element(view, [&](int64_t i, int64_t at) {
    const uint16_t bits = table[static_cast<size_t>(codes[at])];
    std::memcpy(to + i * static_cast<int64_t>(sizeof bits), &bits, sizeof bits);
  });
  data.bytes = to;
  data.owner = std::make_shared<const WideWeight>(WideWeight{narrow, std::move(block)});
  return std::make_shared<const TensorData>(std::move(data));
}

}  // namespace

Result<TensorDataPtr> WideWeights::get(const TensorDataPtr& narrow, const TensorDesc& view, int64_t offset,
                                       DType dtype) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = known_[{narrow.get(), offset, view.text(), dtype}];
  if (TensorDataPtr wide = entry.lock()) return wide;
  CHIARO_ASSIGN(TensorDataPtr wide, widened(allocator_, narrow, view, offset, dtype));
  entry = wide;
  return wide;
}

}  // namespace chiaro
