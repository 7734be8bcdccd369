// Packed weights in cache files (LoadOptions::weight_cache), and which of them a Session holds for how long.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/memory.h"
#include "toy_model.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> pixels(const Result<GenerateResult>& result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().format();
    return {};
  }
  return result->pictures.at(0).rgb;
}

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / ("cache-" + name + "-" + std::to_string(::getpid()));
  fs::remove_all(folder);
  return folder;
}

TEST(WeightCache, ChangesNoByteAndIsWrittenOnce) {
  const std::string model = write_toy_model("weight_cache");
  const std::vector<uint8_t> expected = pixels(open_toy(toy_options(model))->generate(toy_request()));
  const fs::path folder = fresh_folder("bytes");
  std::vector<std::string> notices;
  std::vector<fs::file_time_type> times;
  for (int start = 0; start < 3; ++start) {
    LoadOptions options = toy_options(model);
    options.weight_cache = folder.string();
    options.one_request = start == 2;
    options.log = [&](Severity, std::string_view, std::string_view line) { notices.emplace_back(line); };
    const auto session = open_toy(options);
    ASSERT_TRUE(session);
    int64_t told = 0;
    Callbacks callbacks;
    callbacks.on_progress = [&](const Progress& p) {
      EXPECT_LE(p.cache_written, p.cache_bytes);
      told += p.cache_bytes > 0 ? 1 : 0;
    };
    const auto made = session->generate(toy_request(), callbacks);
    EXPECT_TRUE(pixels(made) == expected) << "start " << start;
    EXPECT_EQ(told > 0, start == 0);
    EXPECT_TRUE(pixels(session->generate(toy_request())) == expected);
    std::vector<fs::file_time_type> now;
    for (const auto& entry : fs::directory_iterator(folder)) now.push_back(fs::last_write_time(entry.path()));
    std::sort(now.begin(), now.end());
    EXPECT_EQ(now.size(), 3U);  // text encoder, network, decoder
    if (start == 0) times = now;
    EXPECT_TRUE(now == times) << "written again";
  }
  EXPECT_TRUE(notices.empty()) << notices.at(0);
}

// As much memory as a test says is free.
class Scarce final : public Allocator {
 public:
  void* allocate(size_t bytes) noexcept override { return system_.allocate(bytes); }
  void release(void* block, size_t bytes) noexcept override { system_.release(block, bytes); }
  int64_t free_bytes() const noexcept override { return free; }
  int64_t free = -1;

 private:
  SystemAllocator system_;
};

struct Held {
  std::vector<uint8_t> rgb;
  int64_t peak = 0, after = 0;  // bytes, of the second picture and behind it
};

Held second_picture(const std::string& model, int64_t free, bool one_request) {
  const auto scarce = std::make_shared<Scarce>();
  scarce->free = free;
  LoadOptions options = toy_options(model);
  options.allocator = scarce;
  options.one_request = one_request;
  const auto session = open_toy(options);
  Held held;
  for (int i = 0; i < 2; ++i) {
    const auto result = session->generate(toy_request());
    held = {pixels(result), result.ok() ? result->peak_bytes : 0, session->held_bytes()};
  }
  session->trim();
  EXPECT_EQ(session->held_bytes(), 0);
  return held;
}

// Forms are held for the next picture where memory is ample or nobody knows; where it is short, or no picture follows,
// those of stages that are done go before the next stage takes its own.
TEST(HeldWeights, GoBeforeTheNextStageOnlyWhereMemoryIsShort) {
  const std::string model = write_toy_model("weight_cache");
  const Held unknown = second_picture(model, -1, false), ample = second_picture(model, int64_t{1} << 40, false);
  const Held scarce = second_picture(model, 1, false), once = second_picture(model, -1, true);
  EXPECT_EQ(ample.after, unknown.after);
  EXPECT_EQ(ample.peak, unknown.peak);
  for (const Held& less : {scarce, once}) {
    EXPECT_TRUE(less.rgb == ample.rgb);
    EXPECT_LT(less.after, ample.after);
    EXPECT_LT(less.peak, ample.peak);
  }
}

}  // namespace
}  // namespace chiaro::testing
