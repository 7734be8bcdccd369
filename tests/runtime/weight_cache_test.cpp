// Packed weights from cache files: the same bits as without, mapped instead of made; whatever is wrong with a file or
// its folder is a line in the log, and the weights are packed.
#include "runtime/weight_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "devices.h"
#include "ops/all.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 96, kWeights = 4;

std::vector<std::byte> bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_bytes(const fs::path& path, std::span<const std::byte> bytes) {
  fs::remove(path);  // a new file: another may have the old one mapped
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// An empty folder of this name, of this process.
fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / ("weight-cache-" + name + "-" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// A file with a header of 64 bytes and kWeights matrices, and a network of their products.
class Model {
 public:
  Model(const fs::path& path, DType dtype, int seed = 37) : path_(path), dtype_(dtype) {
    std::vector<std::byte> bytes(64, std::byte{7});
    for (int64_t i = 0; i < kWeights; ++i) {
      std::vector<float> values(kSide * kSide);
      for (size_t k = 0; k < values.size(); ++k) {
        values[k] = static_cast<float>((k * static_cast<size_t>(seed) + static_cast<size_t>(i)) % 97) / 64.0F - 0.75F;
      }
      const TensorDataPtr made = make_tensor("w", dtype, {kSide, kSide}, values);
      bytes.insert(bytes.end(), made->bytes, made->bytes + made->desc.dense_bytes());
    }
    write_bytes(path, bytes);
  }

  // The file is opened anew, as a program that starts does.
  Graph graph() const {
    auto file = std::make_shared<TensorFile>();
    file->file = MappedFile::open(path_).value();
    file->header_bytes = 64;
    GraphBuilder g;
    Value x = g.input("x", dense(DType::f32, {5, kSide}));
    for (int64_t i = 0; i < kWeights; ++i) {
      auto weight = std::make_shared<TensorData>();
      weight->name = "w" + std::to_string(i);
      weight->desc = dense(dtype_, {kSide, kSide});
      weight->bytes = file->file->bytes().data() + 64 + i * weight->desc.dense_bytes();
      weight->owner = file->file;
      weight->file = file;
      x = matmul(g, {.transpose_b = true}, x, g.weight(weight));
    }
    g.output("y", x);
    return g.finish().value();
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  DType dtype_;
};

struct Made {
  Outputs out;
  std::vector<std::string> notices;
  int64_t held = 0, packed = 0;  // bytes that its allocator gave, and that the forms have
};

Inputs inputs() {
  std::vector<float> x(5 * kSide);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8.0F - 0.5F;
  return {{"x", x}};
}

// One run of a fresh engine, as a program that starts has it. `folder` empty: without a cache.
Made start(const Model& model, const fs::path& folder, const std::vector<std::string>& devices = {"cpu"}) {
  Made made;
  const auto counted = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  EngineOptions options;
  options.threads = 2;
  options.devices = devices;
  options.allocator = counted;
  options.weight_cache = folder;
  options.log = Log::to_sink(LogLevel::notice,
                             [&](LogLevel, LogCategory, std::string_view line) { made.notices.emplace_back(line); });
  const auto engine = Engine::create(options).value();
  Device* device = engine->devices()[0];
  const auto plan = make_plan(model.graph(), {&device, 1}).value();
  EXPECT_EQ(plan->packed.size(), static_cast<size_t>(kWeights));
  for (const PlanPacked& form : plan->packed) made.packed += form.bytes;
  const auto executor = Executor::create(*engine, plan).value();
  made.held = counted->live_bytes();
  made.out = run(*executor, inputs()).value();
  return made;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(WeightCache, IsWrittenOnceAndMappedAfterwards) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::i8}) {
    const fs::path folder = fresh_folder("once");
    const Model model(folder / "model", dtype);
    const Made plain = start(model, {}), first = start(model, folder / "cache"),
               second = start(model, folder / "cache");
    ASSERT_FALSE(plain.out.empty());
    EXPECT_TRUE(same(first.out, plain.out)) << dtype_name(dtype);
    EXPECT_TRUE(same(second.out, plain.out)) << dtype_name(dtype);
    EXPECT_TRUE(first.notices.empty() && second.notices.empty()) << first.notices.at(0);
    EXPECT_GE(plain.held, plain.packed);
    EXPECT_LE(second.held, plain.held - plain.packed);  // mapped, not allocated
    EXPECT_LE(first.held, plain.held - plain.packed);
    ASSERT_EQ(files_in(folder / "cache").size(), 1U);
    const auto file = bytes_of(files_in(folder / "cache")[0]);
    EXPECT_EQ(parse_weight_cache(file, "")->forms.size(), static_cast<size_t>(kWeights));
  }
}

TEST(WeightCache, FeedsDevicesWithMemoryOfTheirOwn) {
  const fs::path folder = fresh_folder("devices");
  const Model model(folder / "model", DType::f16);
  const Made plain = start(model, {});
  for (int round = 0; round < 2; ++round) {
    const Made made = start(model, folder / "cache", {"isolated:a", "cpu"});
    EXPECT_TRUE(same(made.out, plain.out));
    EXPECT_TRUE(made.notices.empty());
  }
  const Made host = start(model, folder / "cache");  // the same file serves both
  EXPECT_TRUE(same(host.out, plain.out));
  EXPECT_EQ(files_in(folder / "cache").size(), 1U);
}

TEST(WeightCache, WhatDoesNotFitIsToldAndMadeAnew) {
  const fs::path folder = fresh_folder("stale"), cache = folder / "cache";
  const Model model(folder / "model", DType::f16);
  const Made plain = start(model, cache);
  const fs::path file = files_in(cache).at(0);
  const std::vector<std::byte> good = bytes_of(file);
  const auto directory = parse_weight_cache(good, "").value();
  const auto repaired = [&](std::string_view says, const std::vector<std::byte>& bad) {
    write_bytes(file, bad);
    const Made made = start(model, cache);
    EXPECT_TRUE(same(made.out, plain.out)) << says;
    ASSERT_EQ(made.notices.size(), 1U) << says;
    EXPECT_NE(made.notices[0].find(says), std::string::npos) << made.notices[0];
    const Made after = start(model, cache);
    EXPECT_TRUE(after.notices.empty()) << says;
    EXPECT_EQ(bytes_of(file), good) << says;
  };
  repaired("0 bytes", {});
  repaired("were written", {good.begin(), good.end() - 1});
  repaired("were written", {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() / 2)});
  auto bad = good;
  std::memcpy(bad.data(), "GGUF1234", 8);
  repaired("another kind", bad);
  bad = good;
  bad[8] = std::byte{9};
  repaired("version 9", bad);
  bad = good;
  std::reverse(bad.begin() + 12, bad.begin() + 16);
  repaired("byte order", bad);
  bad = good;
  bad[good.size() - 20] ^= std::byte{1};
  repaired("directory is damaged", bad);
  bad = good;  // as after a crash: the pages of a form are zeros
  const CachedForm& form = directory.forms.at(2);
  std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(form.at), form.key.bytes, std::byte{0});
  repaired("is damaged", bad);
}

TEST(WeightCache, AnotherWeightFileIsNotTakenForTheOld) {
  const fs::path folder = fresh_folder("changed"), cache = folder / "cache";
  const Model old(folder / "model", DType::f16);
  start(old, cache);
  const fs::path file = files_in(cache).at(0);
  const std::vector<std::byte> of_old = bytes_of(file);
  const fs::file_time_type time = fs::last_write_time(old.path());
  // The same path and size, other numbers, a second later.
  const Model changed(folder / "model", DType::f16, 41);
  fs::last_write_time(changed.path(), time + std::chrono::seconds(1));
  const Made want = start(changed, {}), got = start(changed, cache);
  EXPECT_TRUE(same(got.out, want.out));
  ASSERT_EQ(got.notices.size(), 1U);
  EXPECT_NE(got.notices[0].find("has changed since"), std::string::npos) << got.notices[0];
  EXPECT_EQ(files_in(cache).size(), 1U);  // in place of the old
  // The header decides where size and time are equal.
  auto bytes = bytes_of(changed.path());
  bytes[10] ^= std::byte{1};
  write_bytes(changed.path(), bytes);
  fs::last_write_time(changed.path(), time + std::chrono::seconds(1));
  EXPECT_EQ(start(changed, cache).notices.size(), 1U);
  // A file put under another's name: it is of another model.
  const Model other(folder / "other", DType::f16, 53);
  write_bytes(file, of_old);
  start(other, cache);
  for (const fs::path& each : files_in(cache)) {
    if (each != file) fs::copy_file(file, each, fs::copy_options::overwrite_existing);
  }
  const Made foreign = start(other, cache);
  ASSERT_EQ(foreign.notices.size(), 1U);
  EXPECT_NE(foreign.notices[0].find("it is of "), std::string::npos) << foreign.notices[0];
  EXPECT_TRUE(same(foreign.out, start(other, {}).out));
}

// Files may be no longer than `bytes` while it lives, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

TEST(WeightCache, AFolderThatTakesNothingIsANoticeAndNothingIsLost) {
  const fs::path folder = fresh_folder("full");
  const Model model(folder / "model", DType::f16);
  const Made plain = start(model, {});
  const auto refused = [&](const fs::path& cache) {
    const Made made = start(model, cache);
    EXPECT_TRUE(same(made.out, plain.out));
    ASSERT_EQ(made.notices.size(), 1U) << cache;
    EXPECT_NE(made.notices[0].find("are not kept in"), std::string::npos) << made.notices[0];
  };
  for (const rlim_t bytes : {0, 100, 30000, 70000}) {
    const FullDisk disk(bytes);
    refused(folder / "full");
    EXPECT_TRUE(files_in(folder / "full").empty()) << bytes;
  }
  refused(folder / "model");  // a file, no folder
  refused("/proc/no/such/folder");
  fs::create_directories(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  if (::geteuid() != 0) refused(folder / "closed");  // nothing is closed to the superuser
  EXPECT_TRUE(start(model, folder / "full").notices.empty());
  EXPECT_EQ(files_in(folder / "full").size(), 1U);
}

TEST(WeightCache, EnginesThatStartAtOnceDoNotHurtEachOther) {
  const fs::path folder = fresh_folder("at-once");
  const Model model(folder / "model", DType::f16);
  const Outputs want = start(model, {}).out;
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(folder / "cache");
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const Made made = start(model, folder / "cache");
        right += same(made.out, want) && made.notices.empty() ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, 4);
    EXPECT_EQ(files_in(folder / "cache").size(), 1U);
  }
}

TEST(WeightCache, ACancelWhileItIsWrittenLeavesNothing) {
  const fs::path folder = fresh_folder("cancel");
  const Model model(folder / "model", DType::f16);
  EngineOptions options;
  options.weight_cache = folder / "cache";
  const auto engine = Engine::create(options).value();
  Device* device = engine->devices()[0];
  const auto plan = make_plan(model.graph(), {&device, 1}).value();
  for (int after = 0; after < kWeights; ++after) {
    std::atomic<bool> cancel{after == 0};
    int told = 0;
    RunOptions run_options;
    run_options.cancel = &cancel;
    run_options.on_cache_write = [&](int64_t done, int64_t all) {
      EXPECT_GT(all, done);
      if (++told == after) cancel = true;
    };
    const auto made = Executor::create(*engine, plan, run_options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::cancelled);
    EXPECT_TRUE(files_in(folder / "cache").empty());
  }
  EXPECT_TRUE(same(run(*Executor::create(*engine, plan).value(), inputs()).value(), start(model, {}).out));
  EXPECT_EQ(files_in(folder / "cache").size(), 1U);
}

// What killed processes left goes when another writes; a file that is being written does not.
TEST(WeightCache, OldLeftoversAreRemoved) {
  const fs::path folder = fresh_folder("leftovers"), cache = folder / "cache";
  const Model model(folder / "model", DType::f16);
  fs::create_directories(cache);
  write_bytes(cache / ".chiaro-1-2-3.tmp", {});
  write_bytes(cache / ".chiaro-4-5-6.tmp", {});
  write_bytes(cache / "notes.txt", {});
  const auto now = fs::file_time_type::clock::now();
  for (const char* name : {".chiaro-1-2-3.tmp", "notes.txt"})
    fs::last_write_time(cache / name, now - std::chrono::hours(48));
  start(model, cache);
  EXPECT_FALSE(fs::exists(cache / ".chiaro-1-2-3.tmp"));
  EXPECT_TRUE(fs::exists(cache / ".chiaro-4-5-6.tmp"));
  EXPECT_TRUE(fs::exists(cache / "notes.txt"));
}

// Weights of no file are packed in memory beside those that are mapped.
TEST(WeightCache, WeightsOfNoFileAreNotKept) {
  const fs::path folder = fresh_folder("no-file");
  EngineOptions options;
  options.weight_cache = folder / "cache";
  const auto engine = Engine::create(options).value();
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {2, 8}));
  const Value w = g.weight(make_tensor("w", DType::f32, {8, 8}, std::vector<float>(64, 0.5F)));
  g.output("y", matmul(g, {.transpose_b = true}, x, w));
  const auto out = run_plan(*engine, plan_on(*engine, g.finish().value()), {{"x", std::vector<float>(16, 1.0F)}});
  EXPECT_EQ(out.value().at(0).at(3), 4.0F);
  EXPECT_FALSE(fs::exists(folder / "cache"));
}

}  // namespace
}  // namespace chiaro::testing
