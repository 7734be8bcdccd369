// Folders that would load and draw another picture than the model's, without a word, if their settings were guessed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "recorded_run.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

const fs::path& shipped() {
  static const fs::path kFolder = fs::path(CHIARO_SOURCE_DIR) / "models/tiny";
  return kFolder;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The shipped model with the text of one file changed.
class FolderFaults : public ::testing::Test {
 protected:
  FolderFaults() {
    folder_ =
        fs::path(CHIARO_TMP_DIR) / "folder_faults" / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const auto& entry : fs::recursive_directory_iterator(shipped())) {
      const fs::path own = folder_ / fs::relative(entry.path(), shipped());
      if (entry.is_directory()) fs::create_directories(own);
      if (entry.is_regular_file()) fs::create_symlink(entry.path(), own);
    }
  }
  ~FolderFaults() override { fs::remove_all(folder_); }

  void write(const std::string& file, const std::string& text) {
    fs::remove(folder_ / file);
    std::ofstream(folder_ / file, std::ios::binary) << text;
  }
  // `file` with `from` replaced, which must be in it.
  void change(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = read_text(shipped() / file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(file, text.replace(at, from.size(), to));
  }
  Error refused() const {
    LoadOptions options;
    options.model = folder_.string();
    options.threads = 1;
    const auto session = Session::load(options);
    EXPECT_FALSE(session.ok());
    return session.ok() ? Error{} : session.error();
  }
  bool loads() const {
    LoadOptions options;
    options.model = folder_.string();
    options.threads = 1;
    return Session::load(options).ok();
  }

  fs::path folder_;
};

constexpr const char* kScheduler = "scheduler/scheduler_config.json";

TEST_F(FolderFaults, TheUntouchedCopyLoads) {
  EXPECT_TRUE(loads());
}

TEST_F(FolderFaults, WithoutASchedulerNobodyKnowsWhatTheNetworkPredicts) {
  change("model_index.json", "\"scheduler\"", "\"_scheduler\"");
  const Error error = refused();
  EXPECT_EQ(error.code, ErrorCode::bad_file);
  EXPECT_NE(error.what.find("no scheduler"), std::string::npos) << error.format();
}

TEST_F(FolderFaults, TheBetasAreNotGuessed) {
  for (const char* key : {"\"beta_start\"", "\"beta_end\"", "\"beta_schedule\""}) {
    change(kScheduler, key, "\"something\"");
    const Error error = refused();
    EXPECT_EQ(error.code, ErrorCode::bad_file) << error.format();
    EXPECT_NE(error.format().find(key), std::string::npos) << error.format();
  }
}

TEST_F(FolderFaults, ABadScheduleIsAFaultOfTheFile) {
  for (const char* value : {"\"beta_end\": -1", "\"beta_end\": 0.9999", "\"beta_end\": 1e300"}) {
    change(kScheduler, "\"beta_end\": 0.012", value);
    const Error error = refused();
    EXPECT_EQ(error.code, ErrorCode::bad_file) << value << error.format();
    EXPECT_NE(error.where.find("scheduler_config.json"), std::string::npos) << error.format();
  }
}

TEST_F(FolderFaults, SettingsThatAreNotComputedAreRefused) {
  for (const char* setting : {"\"clip_sample\": true", "\"clip_sample\": false, \"thresholding\": true"}) {
    change(kScheduler, "\"clip_sample\": false", setting);
    EXPECT_EQ(refused().code, ErrorCode::unsupported) << setting;
  }
}

TEST_F(FolderFaults, MergesThatAreCutOffAreRefused) {
  const std::string whole = read_text(shipped() / "tokenizer/merges.txt");
  for (const size_t share : {0, 1, 50, 99}) {
    const size_t cut = whole.rfind('\n', whole.size() * share / 100);
    write("tokenizer/merges.txt", whole.substr(0, cut == std::string::npos ? 0 : cut));
    const Error error = refused();
    EXPECT_EQ(error.code, ErrorCode::bad_file) << share;
    EXPECT_NE(error.where.find("merges.txt"), std::string::npos) << error.format();
  }
}

TEST(FlagsWithoutEffect, EtaIsReportedWhereNoNoiseIsAdded) {
  GenerateRequest request = small_request("ddim");
  request.steps = 1;
  const auto says_eta = [&](const char* sampler, double eta) {
    request.sampling_method = sampler;
    request.eta = eta;
    const auto result = shared_session().generate(request);
    EXPECT_TRUE(result.ok());
    return result.ok() && std::any_of(result->notices.begin(), result->notices.end(),
                                      [](const std::string& n) { return n.find("--eta") != std::string::npos; });
  };
  for (const char* sampler : {"ddim", "euler", "dpm++2m"}) {
    EXPECT_TRUE(says_eta(sampler, 0.5)) << sampler;
    EXPECT_FALSE(says_eta(sampler, 1)) << sampler;
  }
  EXPECT_FALSE(says_eta("euler_a", 0.5));
}

}  // namespace
}  // namespace chiaro::testing
