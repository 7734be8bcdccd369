#include "core/xxh64.h"

#include <array>
#include <bit>
#include <cstring>

namespace chiaro {
namespace {

constexpr uint64_t kP1 = 0x9E3779B185EBCA87U, kP2 = 0xC2B2AE3D27D4EB4FU, kP3 = 0x165667B19E3779F9U,
                   kP4 = 0x85EBCA77C2B2AE63U, kP5 = 0x27D4EB2F165667C5U;

// `n` bytes, the lowest first.
uint64_t little(const std::byte* from, size_t n) {
  if constexpr (std::endian::native == std::endian::little) {
    uint64_t value = 0;
    std::memcpy(&value, from, n);
    return value;
  }
  uint64_t value = 0;
  for (size_t i = n; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(from[i]);
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kP2, 31) * kP1;
}

// The bytes of whole 32-byte stripes, in four lanes.
uint64_t stripes(const std::byte* from, size_t count, uint64_t seed) {
  std::array<uint64_t, 4> lane{seed + kP1 + kP2, seed + kP2, seed, seed - kP1};
  for (size_t i = 0; i < count; ++i, from += 32) {
    for (size_t l = 0; l < 4; ++l) lane[l] = round(lane[l], little(from + 8 * l, 8));
  }
  uint64_t hash = std::rotl(lane[0], 1) + std::rotl(lane[1], 7) + std::rotl(lane[2], 12) + std::rotl(lane[3], 18);
  for (const uint64_t l : lane) hash = (hash ^ round(0, l)) * kP1 + kP4;
  return hash;
}

}  // namespace

uint64_t xxh64(std::span<const std::byte> bytes, uint64_t seed) {
  const std::byte* at = bytes.data();
  const size_t whole = bytes.size() / 32;
  uint64_t hash = whole > 0 ? stripes(at, whole, seed) : seed + kP5;
  at += whole * 32;
  hash += bytes.size();
  size_t left = bytes.size() % 32;
  for (; left >= 8; left -= 8, at += 8) hash = std::rotl(hash ^ round(0, little(at, 8)), 27) * kP1 + kP4;
  if (left >= 4) {
    hash = std::rotl(hash ^ little(at, 4) * kP1, 23) * kP2 + kP3;
    at += 4;
    left -= 4;
  }
  for (; left > 0; --left, ++at) hash = std::rotl(hash ^ std::to_integer<uint64_t>(*at) * kP5, 11) * kP1;
  hash = (hash ^ hash >> 33) * kP2;
  hash = (hash ^ hash >> 29) * kP3;
  return hash ^ hash >> 32;
}

uint64_t xxh64(std::string_view text, uint64_t seed) {
  return xxh64(std::as_bytes(std::span(text.data(), text.size())), seed);
}

}  // namespace chiaro
