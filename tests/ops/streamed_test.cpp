// Results that no cache holds are written past them (ops/cpu_blocks/stream_copy.h): the same bytes as in smaller
// pieces.
#include "ops/cpu_blocks/stream_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "core/floats.h"
#include "graph/builder.h"
#include "ops/add/op.h"
#include "ops/cast/op.h"
#include "ops/group_norm/op.h"
#include "ops/layer_norm/op.h"
#include "ops/rms_norm/op.h"
#include "ops/rope_apply/op.h"
#include "ops/scale/op.h"
#include "ops/silu/op.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

// Two pictures are beyond kStreamBytes, one is not; rows are whole cache lines, as kernels want them for it.
constexpr int64_t kLength = 33, kHeads = 260, kWidth = 1024;
constexpr int64_t kPicture = kLength * kHeads * kWidth;
static_assert(2 * kPicture * 2 >= kStreamBytes && kPicture * 2 < kStreamBytes);

std::vector<std::byte> halves(int64_t n) {
  std::vector<std::byte> bytes(static_cast<size_t>(n) * 2);
  constexpr int64_t kPattern = 5003;  // a prime: rows differ
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t half = f16_from_f32(static_cast<float>(i % kPattern * 2654435761 % 4001) / 1000.0f - 2.0f);
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

using Build = std::function<Value(GraphBuilder&, Value x, Value rot)>;

std::vector<std::byte> result(Engine& engine, const Build& build, std::span<const std::byte> x,
                              std::span<const std::byte> rot, int64_t bytes_per_element) {
  const int64_t pictures = static_cast<int64_t>(x.size()) / (2 * kPicture);
  GraphBuilder g;
  const Value in = g.input("x", dense(DType::f16, {pictures, kLength, kHeads, kWidth}));
  const Value table = g.input("rot", dense(DType::f32, {kLength, kWidth / 2, 2, 2}));
  g.output("y", build(g, in, table));
  auto graph = g.finish();
  auto plan = make_plan(*graph, engine.devices());
  EXPECT_TRUE(plan.ok()) << plan.error().format();
  auto executor = Executor::create(engine, *plan);
  std::vector<std::byte> y(static_cast<size_t>(pictures * kPicture * bytes_per_element));
  const Binding inputs[] = {bind_port("x", x), bind_port("rot", rot)}, out = bind_port("y", std::span(y));
  const Status status = (*executor)->run(inputs, {&out, 1});
  EXPECT_TRUE(status.ok()) << status.error().format();
  return y;
}

void expect_bits_of_pictures(const Build& build, int64_t bytes_per_element = 2) {
  const auto engine = Engine::create();
  ASSERT_TRUE(engine.ok());
  const std::vector<std::byte> x = halves(2 * kPicture), rot = halves(4 * kLength * kWidth);
  const std::vector<std::byte> both = result(**engine, build, x, rot, bytes_per_element);
  const std::span<const std::byte> all(x);
  const size_t half = both.size() / 2;
  for (const size_t picture : {0, 1}) {
    const auto one = result(**engine, build, all.subspan(picture * x.size() / 2, x.size() / 2), rot, bytes_per_element);
    ASSERT_EQ(one.size(), half);
    EXPECT_EQ(std::memcmp(one.data(), both.data() + picture * half, half), 0) << "picture " << picture;
  }
}

TEST(Streamed, Elementwise) {
  expect_bits_of_pictures([](GraphBuilder& g, Value x, Value) { return silu(g, x); });
  expect_bits_of_pictures([](GraphBuilder& g, Value x, Value) { return add(g, x, x); });
  expect_bits_of_pictures([](GraphBuilder& g, Value x, Value) { return scale(g, {.scale = 1.5}, x); });
  expect_bits_of_pictures([](GraphBuilder& g, Value x, Value) { return cast(g, {.dtype = DType::f32}, x); }, 4);
}

TEST(Streamed, Norms) {
  expect_bits_of_pictures([](GraphBuilder& g, Value x, Value) { return group_norm(g, {.groups = 8}, x); });
  expect_bits_of_pictures(
      [](GraphBuilder& g, Value x, Value) { return group_norm(g, {.groups = 8, .act = Activation::silu}, x); });
  expect_bits_of_pictures([](GraphBuilder& g, Value x, Value) { return layer_norm(g, {}, x); });
  expect_bits_of_pictures([](GraphBuilder& g, Value x, Value) { return rms_norm(g, {}, x); });
}

TEST(Streamed, Rotations) {
  for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::split}) {
    expect_bits_of_pictures(
        [layout](GraphBuilder& g, Value x, Value rot) { return rope_apply(g, {.layout = layout}, x, rot); });
  }
}

TEST(Streamed, BytesAtAnyAlignment) {
  std::vector<std::byte> source(700), target(900);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
  for (size_t start = 0; start < 70; start += 3) {
    for (const size_t bytes : {0, 1, 63, 64, 65, 200, 600}) {
      std::fill(target.begin(), target.end(), std::byte{0xEE});
      stream_bytes(target.data() + start, source.data() + start % 5, bytes);
      stream_end();
      for (size_t i = 0; i < target.size(); ++i) {
        const bool written = i >= start && i < start + bytes;
        ASSERT_EQ(target[i], written ? source[start % 5 + i - start] : std::byte{0xEE}) << start << " " << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace chiaro
