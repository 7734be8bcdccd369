// The memory of a Metal device by itself: what is in its residency set and when, and the views of large arenas.
#include "backend/metal/metal_memory.h"

#include <gtest/gtest.h>
#include <softmetal/softmetal.h>

#include <random>
#include <set>
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

class MetalViews : public MetalMemoryAlone {
 protected:
  static constexpr int64_t kArena = 4 * kMiB + 5000, kLargest = kMiB / 4;

  // Places operands of up to `most` bytes all over the arena. Returns how many buffers they are reached through.
  size_t views_of(MetalBuffer& arena, int64_t most) {
    std::mt19937_64 random(3);
    std::set<MTL::Buffer*> buffers;
    for (int i = 0; i < 3000; ++i) {
      const int64_t bytes = std::uniform_int_distribution<int64_t>(1, most)(random);
      const int64_t offset = std::uniform_int_distribution<int64_t>(0, kArena - bytes)(random);
      const auto place = arena.place(offset, bytes);
      if (!place.ok()) {
        ADD_FAILURE() << offset << ", " << bytes << ": " << place.error().format();
        return 0;
      }
      EXPECT_LE(static_cast<int64_t>(place->offset) + bytes, static_cast<int64_t>(place->buffer->length()));
      EXPECT_EQ(static_cast<std::byte*>(place->buffer->contents()) + place->offset, arena.host() + offset);
      buffers.insert(place->buffer);
    }
    return buffers.size();
  }
};

TEST_F(MetalViews, OfALargeArenaAreAtMostTwiceItsBytes) {
  MetalMemory memory = this->memory(kLargest);
  const auto arena = memory.allocate(owner(), kArena, "a test").value();
  const size_t views = views_of(static_cast<MetalBuffer&>(*arena), kLargest / 2);
  EXPECT_LE(views, static_cast<size_t>(2 * (kArena / kLargest + 1)));
  EXPECT_LE(resident(), 2 * (kArena + kLargest));
}

// The largest operands lie across more borders; those views begin on a grid too.
TEST_F(MetalViews, HoldEveryOperandThatKernelsTake) {
  const int64_t most = largest_viewed_bytes(kLargest);
  EXPECT_GE(most, kLargest / 8 * 7);
  MetalMemory memory = this->memory(kLargest);
  const auto arena = memory.allocate(owner(), kArena, "a test").value();
  auto& buffer = static_cast<MetalBuffer&>(*arena);
  EXPECT_LE(views_of(buffer, most), static_cast<size_t>(15 * (kArena / kLargest + 1)));
  EXPECT_TRUE(buffer.place(kLargest / 16 * 3 + 7, most).ok());
  const auto fresh = memory.allocate(owner(), kArena, "a test").value();
  const auto refused = static_cast<MetalBuffer&>(*fresh).place(0, most + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().why.find("largest buffer"), std::string::npos);
}

}  // namespace
}  // namespace chiaro::testing
