#include "diffusion/rng.h"

#include <cmath>
#include <numbers>
#include <random>

namespace chiaro {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;

// torch.Generator("cuda"): element i of a call is the first normal of counter (offset/4, 0, i, 0), key = seed.
// PyTorch itself lets a thread make further elements beyond 256 x resident blocks, a number that depends on the GPU;
// this form gives the same noise for a seed everywhere, and equals PyTorch's up to 270,336 elements on an H200.
class CudaNoise final : public NoiseGenerator {
 public:
  explicit CudaNoise(uint64_t seed) : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  void normals(std::span<float> out) override {
    for (size_t i = 0; i < out.size(); ++i) {
      const auto words = philox4x32({static_cast<uint32_t>(call_), static_cast<uint32_t>(call_ >> 32),
                                     static_cast<uint32_t>(i), static_cast<uint32_t>(uint64_t{i} >> 32)},
                                    key_);
      out[i] = box_muller(words[0], words[1]);
    }
    ++call_;
  }

 private:
  // curand's transform: u in (0, 1], v in (0, 2 pi], both one f32 fused multiply-add; the sine comes first.
  static float box_muller(uint32_t x, uint32_t y) {
    constexpr float kUnit = 2.3283064e-10f;  // 2^-32
    constexpr float kTurn = kUnit * 6.2831855f;
    const float u = std::fma(static_cast<float>(x), kUnit, kUnit / 2);
    const float v = std::fma(static_cast<float>(y), kTurn, kTurn / 2);
    return static_cast<float>(std::sqrt(-2.0 * std::log(static_cast<double>(u))) * std::sin(static_cast<double>(v)));
  }

  std::array<uint32_t, 2> key_;
  uint64_t call_ = 0;  // PyTorch's offset / 4
};

// torch.Generator() on the CPU: mt19937 seeded with the low 32 bits. PyTorch makes tensors of 16 and more elements
// in blocks of sixteen from 24-bit uniforms, smaller ones element by element from 53-bit uniforms.
class CpuNoise final : public NoiseGenerator {
 public:
  explicit CpuNoise(uint64_t seed) : engine_(static_cast<uint32_t>(seed)) {}

  void normals(std::span<float> out) override {
    if (out.size() < kBlock) {
      for (float& value : out) value = static_cast<float>(one());
      return;
    }
    for (float& value : out) value = uniform24();
    for (size_t at = 0; at + kBlock <= out.size(); at += kBlock) transform(out.subspan(at, kBlock));
    if (out.size() % kBlock != 0) {  // the last sixteen, overlapping the last whole block, are drawn anew
      const auto tail = out.last(kBlock);
      for (float& value : tail) value = uniform24();
      transform(tail);
    }
  }

 private:
  static constexpr size_t kBlock = 16;

  float uniform24() { return static_cast<float>(engine_() & 0xFFFFFFu) * 0x1p-24f; }

  double uniform53() {
    const uint64_t high = engine_();
    return static_cast<double>(((high << 32) | engine_()) & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
  }

  static void transform(std::span<float> block) {
    for (size_t j = 0; j < kBlock / 2; ++j) {
      const double r = std::sqrt(-2.0 * std::log(static_cast<double>(1.0f - block[j])));
      const double t = kTwoPi * static_cast<double>(block[j + kBlock / 2]);
      block[j] = static_cast<float>(r * std::cos(t));
      block[j + kBlock / 2] = static_cast<float>(r * std::sin(t));
    }
  }

  double one() {
    if (waiting_) {
      waiting_ = false;
      return kept_;
    }
    const double u1 = uniform53();
    const double u2 = uniform53();
    const double r = std::sqrt(-2.0 * std::log1p(-u2));
    kept_ = r * std::sin(kTwoPi * u1);
    waiting_ = true;
    return r * std::cos(kTwoPi * u1);
  }

  std::mt19937 engine_;
  double kept_ = 0;
  bool waiting_ = false;
};

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    k = {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
  }
  return c;
}

std::unique_ptr<NoiseGenerator> make_noise_generator(RngKind kind, uint64_t seed) {
  if (kind == RngKind::cpu) return std::make_unique<CpuNoise>(seed);
  return std::make_unique<CudaNoise>(seed);
}

}  // namespace chiaro
