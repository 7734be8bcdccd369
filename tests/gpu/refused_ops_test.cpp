// Case 19 on GPUs: a small pipeline where the GPU refuses some ops: each in turn, and random subsets. The picture is
// the CPU's, nothing ends the process, and what fell back is told with its bytes.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "ops/gpu_kernel.h"
#include "pipeline/image/compare.h"
#include "pipeline/toy_model.h"
#include "sanitized.h"

namespace chiaro {
namespace {

constexpr const char* kGpu = "softgpu:apple7";

struct Made {
  Image image;
  std::vector<std::string> moved;  // notices of nodes that fell back
};

Made toy_picture(LoadOptions options) {
  static const std::string model = testing::write_toy_model("gpu_refused_ops");
  options.model = model;
  options.threads = 2;
  const auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << session.error().format();
  if (!session.ok()) return {};
  GenerateRequest request = testing::toy_request();
  request.steps = 1;
  auto result = (*session)->generate(request, {});
  EXPECT_TRUE(result.ok()) << result.error().format();
  if (!result.ok()) return {};
  Picture& picture = result->pictures.front();
  Made made{{picture.width, picture.height, std::move(picture.rgb)}, {}};
  for (const std::string& notice : result->notices) {
    if (notice.find(" moved to cpu: ") != std::string::npos) made.moved.push_back(notice);
  }
  return made;
}

std::vector<std::string> gpu_ops() {
  std::vector<std::string> names;
  for (const Kernels& kernels : gpu_kernel_table()) names.emplace_back(kernels.front().op);
  return names;
}

// The number of notices.
size_t expect_the_cpus_picture(const std::vector<std::string>& refused, bool fuse) {
  static const Image cpu = toy_picture({}).image;
  LoadOptions options;
  options.devices = std::string(kGpu) + ",checks=off";  // who owns what is checked all the same
  options.fuse = fuse;
  std::string what;
  for (const std::string& op : refused) {
    options.disabled_ops.push_back(op + "@" + kGpu);
    what += op + " ";
  }
  const Made made = toy_picture(options);
  const auto difference = compare_images(made.image, cpu);
  EXPECT_TRUE(difference.ok()) << what << difference.error().format();
  if (!difference.ok()) return 0;
  EXPECT_GE(difference->psnr, 50) << what;
  for (const std::string& notice : made.moved) EXPECT_NE(notice.find(" copied per "), std::string::npos) << notice;
  return made.moved.size();
}

TEST(GpuRefusedOps, EachInTurn) {
  EXPECT_EQ(expect_the_cpus_picture({}, true), 0U);
  std::string moving;
  for (const std::string& op : gpu_ops()) {
    if (expect_the_cpus_picture({op}, false) > 0) moving += op + " ";
    ASSERT_FALSE(HasFailure()) << op;
  }
  std::printf("moved nodes: %s\n", moving.c_str());
  for (const char* op : {"add", "attention", "conv2d", "group_norm", "layer_norm", "matmul", "upsample_nearest"}) {
    EXPECT_NE(moving.find(std::string(op) + " "), std::string::npos) << op << " is refused, and nothing moved";
  }
}

TEST(GpuRefusedOps, RandomSubsets) {
  const std::vector<std::string> ops = gpu_ops();
  const int count = CHIARO_SANITIZED ? 5 : 50;
  size_t notices = 0;
  for (int i = 0; i < count; ++i) {
    std::mt19937 random(static_cast<uint32_t>(i));
    std::vector<std::string> refused;
    for (const std::string& op : ops) {
      if (random() % 3 == 0) refused.push_back(op);
    }
    notices += expect_the_cpus_picture(refused, random() % 2 == 0);
    ASSERT_FALSE(HasFailure()) << "subset " << i;
  }
  std::printf("%d subsets, %zu stages with moved nodes\n", count, notices);
  EXPECT_GT(notices, static_cast<size_t>(count));
}

}  // namespace
}  // namespace chiaro
