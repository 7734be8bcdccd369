// XXH64, a hash of 64 bits that runs at the speed of memory (Yann Collet, "xxHash fast digest algorithm", version
// 0.1.1), for telling damage and change, not for telling apart what an enemy made. Thread rule: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace chiaro {

// The same on every machine, whatever its byte order.
uint64_t xxh64(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t xxh64(std::string_view text, uint64_t seed = 0);

}  // namespace chiaro
