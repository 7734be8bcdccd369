// Noise: the normal numbers that PyTorch gives for a seed, on a CUDA device (counter-based Philox) or on the CPU
// (mt19937). One generator per picture, so that picture i of a batch equals a run with seed + i alone.
//
// Measured against PyTorch: integers bit-equal, normals within 2e-6 (tests/golden/rng). Logs, sines and cosines are
// taken in double, so the numbers do not depend on the device that uses them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace chiaro {

enum class RngKind { cuda, cpu };

// Thread rule: one thread per generator.
class NoiseGenerator {
 public:
  virtual ~NoiseGenerator() = default;
  // Fills `out` with standard normals, as one call of torch.randn(out.size()) on a fresh or continued generator.
  virtual void normals(std::span<float> out) = 0;
};

std::unique_ptr<NoiseGenerator> make_noise_generator(RngKind kind, uint64_t seed);

// Philox4x32-10. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace chiaro
