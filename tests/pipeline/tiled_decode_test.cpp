// Pictures decoded in tiles: where memory asks for it, where it runs out, and where the user asks; cancelled between
// tiles, and the same bytes from any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/memory.h"
#include "pipeline/decode.h"
#include "pipeline/image/metadata.h"
#include "pipeline/step_graph.h"
#include "toy_model.h"

namespace chiaro::testing {
namespace {

constexpr int kSide = 48;  // pixels: 24 latents
constexpr int64_t kLatents = kSide / 2;

GenerateRequest request_in(const VaeTiling& tiling) {
  GenerateRequest request = toy_request();
  request.width = request.height = kSide;
  request.vae_tiling = tiling;
  return request;
}

GenerateResult made(Session& session, const GenerateRequest& request, const Callbacks& callbacks = {}) {
  auto result = session.generate(request, callbacks);
  EXPECT_TRUE(result.ok()) << result.error().format();
  if (!result.ok()) return {};
  EXPECT_FALSE(result->pictures.empty());
  return std::move(*result);
}

bool says(const GenerateResult& result, std::string_view text) {
  return std::any_of(result.notices.begin(), result.notices.end(),
                     [&](const std::string& n) { return n.find(text) != std::string::npos; });
}

// What the decoder allocates for latents of side x side.
struct Needs {
  int64_t arena = 0, all = 0;
};
Needs needs_of(const std::string& path, int64_t side) {
  auto engine = Engine::create({.threads = 2});  // as toy_options
  auto assembly = assemble(path, (*engine)->log());
  const auto graph = build_decode(**assembly, {1, side, side, DType::f32});
  const auto plan = make_plan(*graph, (*engine)->devices(), {});
  EXPECT_TRUE(plan.ok()) << plan.error().format();
  Needs needs{(*plan)->arena_bytes(), (*plan)->arena_bytes()};
  // Weights that every kernel takes packed are not there as they are.
  for (const PlanStaged& staged : (*plan)->staged) {
    if (staged.region != Region::weight) continue;
    needs.all += (*plan)->weights[static_cast<size_t>(staged.index)]->desc.dense_bytes();
  }
  for (const auto& packed : (*plan)->packed) needs.all += packed.bytes;
  for (const auto& port : (*plan)->inputs) needs.all += port.desc.dense_bytes();
  return needs;
}

LoadOptions on_device(const std::string& path, int64_t budget) {
  LoadOptions options = toy_options(path);
  options.devices = "cpu,isolated:a,budget=" + std::to_string(budget);
  options.backend = "te=cpu,diffusion=cpu,vae=isolated:a";
  return options;
}

TEST(TiledDecode, WhereTheWholeIsPastTheDevicesBudget) {
  const std::string path = write_toy_model("tiled");
  const Needs whole = needs_of(path, kLatents), tile = needs_of(path, 16);
  ASSERT_LT(tile.arena, whole.arena);
  const int64_t budget = (tile.all + whole.all) / 2;
  const auto small = open_toy(on_device(path, budget)), large = open_toy(on_device(path, 2 * whole.all));
  ASSERT_TRUE(small && large);
  const GenerateResult automatic = made(*small, request_in({}));
  EXPECT_TRUE(says(automatic, "decoded in 4 tiles of 16x16 latents: whole it takes")) << automatic.notices.size();
  EXPECT_EQ(automatic.pictures[0].tiling, (VaeTiling{Tiling::on, 16, 16, 0.5}));
  // The size that was chosen, asked for where there is room.
  const GenerateResult asked = made(*large, request_in({Tiling::on, 16, 16, 0.5}));
  EXPECT_FALSE(says(asked, "tiles"));
  EXPECT_TRUE(asked.pictures[0].rgb == automatic.pictures[0].rgb);
  const GenerateResult roomy = made(*large, request_in({}));
  EXPECT_EQ(roomy.pictures[0].tiling, VaeTiling{});
  EXPECT_TRUE(roomy.pictures[0].rgb != automatic.pictures[0].rgb) << "the decoder's norms see the whole picture";
  const auto refused = small->generate(request_in({Tiling::off}), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(made(*small, request_in({})).pictures[0].rgb == automatic.pictures[0].rgb);
}

// Refuses blocks above a size while it is told to.
class Limited final : public Allocator {
 public:
  void* allocate(size_t bytes) noexcept override { return bytes > most ? nullptr : base_.allocate(bytes); }
  void release(void* block, size_t bytes) noexcept override { base_.release(block, bytes); }
  std::atomic<size_t> most{std::numeric_limits<size_t>::max()};

 private:
  SystemAllocator base_;
};

TEST(TiledDecode, WhereMemoryRunsOutItGoesOnInTiles) {
  const std::string path = write_toy_model("tiled");
  const auto memory = std::make_shared<Limited>();
  LoadOptions options = toy_options(path);
  options.allocator = memory;
  const auto session = open_toy(options);
  ASSERT_TRUE(session);
  const auto arena = static_cast<size_t>(needs_of(path, kLatents).arena);
  Callbacks callbacks;
  callbacks.on_progress = [&](const Progress& p) {
    memory->most = p.stage == Stage::decode ? arena - 1 : std::numeric_limits<size_t>::max();
  };
  GenerateRequest request = request_in({});
  request.batch_count = 2;
  const GenerateResult less = made(*session, request, callbacks);
  EXPECT_TRUE(says(less, "memory ran out while decoding; it was done again without"));
  EXPECT_TRUE(says(less, "it was done again in 4 tiles of 16x16 latents"));
  ASSERT_EQ(less.pictures.size(), 2u);
  memory->most = std::numeric_limits<size_t>::max();
  request.vae_tiling = {Tiling::on, 16, 16, 0.5};
  const GenerateResult asked = made(*session, request);
  ASSERT_EQ(asked.pictures.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(less.pictures[i].tiling, request.vae_tiling);
    EXPECT_TRUE(less.pictures[i].rgb == asked.pictures[i].rgb) << "picture " << i;
  }
  const auto refused = session->generate(request_in({Tiling::off}), callbacks);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory) << refused.error().format();
}

TEST(TiledDecode, TilesAreCountedAndCancelledBetween) {
  const auto session = open_toy(toy_options(write_toy_model("tiled")));
  ASSERT_TRUE(session);
  GenerateRequest request = request_in({Tiling::on, 8, 8, 0.5});
  request.batch_count = 2;
  std::vector<std::pair<int, int>> steps;
  Callbacks callbacks;
  callbacks.on_progress = [&](const Progress& p) {
    if (p.stage == Stage::decode) steps.emplace_back(p.step, p.steps);
  };
  const GenerateResult result = made(*session, request, callbacks);
  std::vector<std::pair<int, int>> expected;
  for (int picture = 0; picture < 2; ++picture) {  // each a group of its own
    expected.emplace_back(0, 1);
    for (int i = 1; i <= 25; ++i) expected.emplace_back(i, 25);
  }
  EXPECT_EQ(steps, expected);
  std::atomic<bool> cancel{false};
  int pictures = 0;
  callbacks.cancel = &cancel;
  callbacks.on_progress = [&](const Progress& p) {
    if (p.stage == Stage::decode && p.picture == 1 && p.step == 7) cancel = true;
    EXPECT_FALSE(p.stage == Stage::decode && p.picture == 1 && p.step > 7) << "it went on";
  };
  callbacks.on_picture = [&](const Picture&, int, const GenerateRequest&) {
    ++pictures;
    return Status{};
  };
  const auto stopped = session->generate(request, callbacks);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_EQ(pictures, 1);
  EXPECT_TRUE(made(*session, request).pictures[1].rgb == result.pictures[1].rgb);
}

TEST(TiledDecode, TheSameBytesFromAnyNumberOfThreadsAndBatch) {
  const std::string path = write_toy_model("tiled");
  GenerateRequest request = request_in({Tiling::on, 12, 8, 0.25});
  request.width = 50;  // 26 latents, cropped
  request.batch_count = 3;
  std::vector<std::vector<uint8_t>> first;
  for (const int threads : {1, 2, 3, 7}) {
    const auto session = open_toy(toy_options(path, threads));
    ASSERT_TRUE(session);
    request.batch_size = threads;
    const GenerateResult result = made(*session, request);
    std::vector<std::vector<uint8_t>> now;
    for (const Picture& p : result.pictures) now.push_back(p.rgb);
    if (first.empty()) first = now;
    EXPECT_TRUE(now == first) << threads << " threads";
  }
}

// A picture says how it was decoded, and what it says makes it again.
TEST(TiledDecode, APictureRecordsItsTiles) {
  const auto session = open_toy(toy_options(write_toy_model("tiled")));
  ASSERT_TRUE(session);
  const auto stored = [](const GenerateResult& result) {
    auto read = stored_request(picture_text(result.used, "toy", result.pictures[0]), "toy.png");
    EXPECT_TRUE(read.ok());
    return read->request;
  };
  const GenerateResult tiles = made(*session, request_in({Tiling::on, 12, 0, 0.3}));
  const GenerateRequest again = stored(tiles);
  EXPECT_EQ(again.vae_tiling, (VaeTiling{Tiling::on, 12, 64, 0.3}));
  EXPECT_TRUE(made(*session, again).pictures[0].rgb == tiles.pictures[0].rgb);
  EXPECT_EQ(stored(made(*session, request_in({Tiling::off}))).vae_tiling.mode, Tiling::off);
  // No larger than a tile: whole, and not recorded, since no byte differs.
  const GenerateResult whole = made(*session, request_in({})), one = made(*session, request_in({Tiling::on}));
  EXPECT_EQ(stored(one).vae_tiling, VaeTiling{});
  EXPECT_TRUE(one.pictures[0].rgb == whole.pictures[0].rgb);
  const GenerateResult unused = made(*session, request_in({Tiling::automatic, 8, 8, 0.5}));
  EXPECT_TRUE(says(unused, "--vae-tile-size has no effect"));
  EXPECT_TRUE(unused.pictures[0].rgb == whole.pictures[0].rgb);
}

TEST(TiledDecode, SizesThatCannotBeAreRefusedBeforeAnyWork) {
  const auto session = open_toy(toy_options(write_toy_model("tiled")));
  ASSERT_TRUE(session);
  for (const VaeTiling& wrong : {VaeTiling{Tiling::on, 3, 8, 0.5},
                                 {Tiling::on, 8, -1, 0.5},
                                 {Tiling::automatic, 20000, 8, 0.5},
                                 {Tiling::on, 8, 8, 0.6},
                                 {Tiling::off, 8, 8, -0.1},
                                 {Tiling::on, 8, 8, std::nan("")}}) {
    Callbacks callbacks;
    callbacks.on_progress = [](const Progress&) { ADD_FAILURE() << "work was begun"; };
    const auto result = session->generate(request_in(wrong), callbacks);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::usage);
    EXPECT_NE(result.error().format().find("--vae-tile-"), std::string::npos) << result.error().format();
  }
}

}  // namespace
}  // namespace chiaro::testing
