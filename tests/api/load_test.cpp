// Loading: what can be wrong is an error that names it.
#include <filesystem>
#include <fstream>
#include <mutex>

#include "session_fixtures.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using namespace testing;

LoadOptions options_of(const std::string& model) {
  LoadOptions options;
  options.model = model;
  return options;
}

Error refused(const LoadOptions& options) {
  const auto session = Session::load(options);
  EXPECT_FALSE(session.ok());
  return session.ok() ? Error{} : session.error();
}

TEST(Load, TheShippedModelSaysWhatItIs) {
  const auto session = load_tiny();
  const ModelInfo& info = session->info();
  EXPECT_EQ(info.kind, "diffusers folder");
  EXPECT_EQ(info.path, kTinyModel);
  ASSERT_EQ(info.components.size(), 3u);
  for (const ComponentInfo& part : info.components) {
    EXPECT_GT(part.tensors, 0) << part.role;
    EXPECT_GE(part.bytes, part.parameters) << part.role;
  }
  EXPECT_TRUE(info.missing.empty());
  EXPECT_TRUE(info.unused.empty());
  EXPECT_EQ(info.default_width, 256);
}

TEST(Load, AMissingModelIsNamed) {
  const Error error = refused({.model = "/no/such model 猫"});
  EXPECT_EQ(error.code, ErrorCode::io);
  EXPECT_NE(error.format().find("/no/such model 猫"), std::string::npos);
}

TEST(Load, AFileThatIsNoModel) {
  const fs::path file = fs::path(CHIARO_TMP_DIR) / "not_a_model.safetensors";
  std::ofstream(file) << "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
  EXPECT_EQ(refused(options_of(file.string())).code, ErrorCode::bad_file);
  fs::remove(file);
}

TEST(Load, AnEmptyPathAndAnEmptyFolder) {
  EXPECT_NE(refused(options_of("")).what, "");
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / "empty model";
  fs::create_directories(folder);
  EXPECT_EQ(refused(options_of(folder.string())).code, ErrorCode::bad_file);
  fs::remove(folder);
}

TEST(Load, WrongOptionsAreUsageErrors) {
  LoadOptions options = options_of(kTinyModel);
  options.precision = "f12";
  EXPECT_EQ(refused(options).code, ErrorCode::usage);
  options = options_of(kTinyModel);
  options.disabled_ops = {"conv9d"};
  const Error error = refused(options);
  EXPECT_EQ(error.code, ErrorCode::usage);
  EXPECT_NE(error.format().find("conv9d"), std::string::npos);
}

TEST(Load, TheLogGetsLinesOfItsLevelOnly) {
  std::mutex mutex;
  int lines = 0, below = 0;
  LoadOptions options;
  options.log_level = Severity::info;
  options.log = [&](Severity severity, std::string_view category, std::string_view line) {
    const std::lock_guard lock(mutex);
    ++lines;
    below += severity < Severity::info ? 1 : 0;
    EXPECT_FALSE(category.empty() || line.empty());
  };
  generated(*load_tiny(options), small_request(1));
  EXPECT_GT(lines, 0);
  EXPECT_EQ(below, 0);
}

}  // namespace
}  // namespace chiaro
