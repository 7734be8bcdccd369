// The memory of a Metal device by itself: what is in its residency set and when.
#include "backend/metal/metal_memory.h"

#include <gtest/gtest.h>
#include <softmetal/softmetal.h>

#include <vector>

#include "metal_engine.h"

namespace chiaro::testing {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class MetalMemoryAlone : public ::testing::Test {
 protected:
  MetalMemory memory(int64_t largest_bytes) {
    return {*gpu_.get(), residency_, {"a GPU", true, 64 * kMiB, largest_bytes}};
  }
  const Device& owner() const { return *engine_->devices()[0]; }
  int64_t resident() {
    residency_.settle();
    return static_cast<int64_t>(residency_.bytes());
  }

  const std::shared_ptr<Engine> engine_ = metal_engine("cpu");
  const NS::SharedPtr<MTL::Device> gpu_ = NS::TransferPtr(softmetal::create_device("apple7"));
  const NS::SharedPtr<MTL::CommandQueue> queue_ = NS::TransferPtr(gpu_->newCommandQueue());
  MetalResidency residency_{*gpu_.get(), *queue_.get()};
};

// Not only with the next command buffer: by then the pages are unmapped.
TEST_F(MetalMemoryAlone, WhatIsFreedLeavesTheResidencySetAtOnce) {
  MetalMemory memory = this->memory(4 * kMiB);
  auto own = memory.allocate(owner(), kMiB, "a test").value();
  EXPECT_EQ(resident(), kMiB);
  own.reset();
  EXPECT_EQ(residency_.bytes(), 0u);

  const std::vector<std::byte> weight(static_cast<size_t>(3 * kMiB));
  auto wrapped = memory.wrap(owner(), weight);
  ASSERT_NE(wrapped, nullptr);
  EXPECT_GE(resident(), 3 * kMiB);
  EXPECT_LE(resident(), 3 * kMiB + 2 * host_page_bytes());
  wrapped.reset();
  EXPECT_EQ(residency_.bytes(), 0u);

  auto arena = memory.allocate(owner(), 9 * kMiB, "a test").value();
  ASSERT_TRUE(static_cast<MetalBuffer&>(*arena).place(0, 100).ok());
  ASSERT_TRUE(static_cast<MetalBuffer&>(*arena).place(8 * kMiB, 100).ok());
  EXPECT_EQ(resident(), 5 * kMiB);  // 4 and the last 1
  arena.reset();
  EXPECT_EQ(residency_.bytes(), 0u);
  // What takes its place is alone there.
  arena = memory.allocate(owner(), 2 * kMiB, "a test").value();
  EXPECT_EQ(resident(), 2 * kMiB);
}

}  // namespace
}  // namespace chiaro::testing
