// Every rule of the API, broken once: the fault is told, the call does nothing, and the right program beside it is
// silent.
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "bench.h"
#include "sanitized.h"

namespace softmetal {
namespace {

class Misuse : public Bench {
 protected:
  void SetUp() override {
    Bench::SetUp();
    add_ = pipeline("add_one");
    x_ = floats(std::vector<float>(64, 1.0f));
    y_ = memory(256);
    commands_ = queue->commandBuffer();
    encoder_ = commands_->computeCommandEncoder();
  }
  void TearDown() override {
    end();
    add_.reset();
    x_.reset();
    y_.reset();
    Bench::TearDown();
  }
  void end() {
    if (encoder_ != nullptr) encoder_->endEncoding();
    encoder_ = nullptr;
  }
  // The right program: after each misuse the encoder still works.
  void expect_works() {
    expect_silence();
    encode_add(encoder_, add_.get(), x_.get(), y_.get());
    end();
    commands_->commit();
    commands_->waitUntilCompleted();
    EXPECT_EQ(commands_->status(), MTL::CommandBufferStatusCompleted);
    EXPECT_EQ(read(y_.get()), std::vector<float>(64, 2.0f));
    expect_silence();
  }

  NS::SharedPtr<MTL::ComputePipelineState> add_;
  NS::SharedPtr<MTL::Buffer> x_, y_;
  MTL::CommandBuffer* commands_ = nullptr;
  MTL::ComputeCommandEncoder* encoder_ = nullptr;
};

TEST_F(Misuse, ABufferOfAnotherDevice) {
  const auto other = NS::TransferPtr(create_device("apple9"));
  const auto foreign = NS::TransferPtr(other->newBuffer(256, 0));
  encoder_->setBuffer(foreign.get(), 0, 0);
  expect_fault(FaultKind::foreign_device, "registry");
  expect_works();
}

TEST_F(Misuse, APipelineAFenceAndAFunctionOfAnotherDevice) {
  const auto other = NS::TransferPtr(create_device("apple9"));
  const auto its_library = NS::TransferPtr(new_library(other.get()));
  const auto its_pipeline = pipeline("add_one", its_library.get());
  encoder_->setComputePipelineState(its_pipeline.get());
  expect_fault(FaultKind::foreign_device, "the pipeline");
  const auto its_fence = NS::TransferPtr(other->newFence());
  encoder_->updateFence(its_fence.get());
  expect_fault(FaultKind::foreign_device, "the fence");
  const auto function = NS::TransferPtr(its_library->newFunction(MTLSTR("add_one")));
  EXPECT_EQ(device->newComputePipelineState(function.get(), nullptr), nullptr);
  expect_fault(FaultKind::foreign_device, "the function");
  expect_works();
}

TEST_F(Misuse, OffsetsAndSlotsOutOfRange) {
  encoder_->setBuffer(x_.get(), 256, 0);
  expect_fault(FaultKind::bad_range, "past the end");
  encoder_->setBuffer(x_.get(), 0, 31);
  expect_fault(FaultKind::bad_range, "no such slot");
  encoder_->setBufferOffset(4, 5);
  expect_fault(FaultKind::missing_binding, "slot 5");
  encoder_->setBuffer(x_.get(), 252, 0);
  encoder_->setBufferOffset(0, 0);
  expect_works();
}

TEST_F(Misuse, AnArgumentThatNothingIsBoundTo) {
  encoder_->setComputePipelineState(add_.get());
  encoder_->setBuffer(x_.get(), 0, 0);
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::missing_binding, "slot 1 of kernel 'add_one'");
  encoder_->setBuffer(nullptr, 0, 1);
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::missing_binding, "nil is bound");
  encoder_->setBuffer(y_.get(), 0, 1);
  const uint32_t too_short = 64;
  encoder_->setBytes(&too_short, 4, 2);
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::bad_range, "at least 8 bytes");
  const float values[64] = {};
  encoder_->setBytes(values, sizeof(values), 1);
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::missing_binding, "that the kernel writes");
  expect_works();
}

TEST_F(Misuse, MoreBytesThanSetBytesTakes) {
  const std::vector<std::byte> bytes(4097);
  encoder_->setBytes(bytes.data(), 4097, 3);
  expect_fault(FaultKind::bad_range, "1 to 4096");
  encoder_->setBytes(bytes.data(), 0, 3);
  expect_fault(FaultKind::bad_range, "1 to 4096");
  encoder_->setBytes(bytes.data(), 4096, 3);
  expect_works();
}

TEST_F(Misuse, ThreadgroupsThatDoNotFit) {
  encode_add(encoder_, add_.get(), x_.get(), y_.get());
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(2048, 1, 1));
  expect_fault(FaultKind::launch_limits, "1024");
  encoder_->dispatchThreadgroups(MTL::Size(0, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::launch_limits, "empty");
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(8, 8, 1));
  expect_fault(FaultKind::unsupported, "one-dimensional");
  encoder_->dispatchThreads(MTL::Size(65, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::unsupported, "65");
  encoder_->setThreadgroupMemoryLength(40, 0);
  expect_fault(FaultKind::launch_limits, "multiple of 16");
  encoder_->setThreadgroupMemoryLength(32768, 0);
  const auto total = pipeline("group_total");
  encoder_->setComputePipelineState(total.get());
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::launch_limits, "36864 bytes");
  encoder_->setThreadgroupMemoryLength(0, 0);
  expect_works();
}

TEST_F(Misuse, AThreadgroupLargerThanThePipelineTakes) {
  auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  auto function = NS::TransferPtr(library->newFunction(MTLSTR("add_one")));
  descriptor->setComputeFunction(function.get());
  descriptor->setMaxTotalThreadsPerThreadgroup(32);
  const auto small = NS::TransferPtr(device->newComputePipelineState(descriptor.get(), 0, nullptr, nullptr));
  ASSERT_TRUE(small);
  encode_add(encoder_, small.get(), x_.get(), y_.get());
  expect_fault(FaultKind::launch_limits, "maxTotalThreadsPerThreadgroup is 32");
  expect_works();
}

TEST_F(Misuse, ADispatchWithoutAPipeline) {
  encoder_->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(64, 1, 1));
  expect_fault(FaultKind::encoder_state, "without a pipeline");
  expect_works();
}

TEST_F(Misuse, EncodingAfterTheEnd) {
  MTL::ComputeCommandEncoder* ended = encoder_;
  end();
  ended->setBuffer(x_.get(), 0, 0);
  expect_fault(FaultKind::encoder_state, "after endEncoding");
  ended->endEncoding();
  expect_fault(FaultKind::encoder_state, "after endEncoding");
  encoder_ = commands_->computeCommandEncoder();
  expect_works();
}

TEST_F(Misuse, TwoOpenEncoders) {
  EXPECT_EQ(commands_->blitCommandEncoder(), nullptr);
  expect_fault(FaultKind::encoder_state, "is open");
  commands_->commit();
  expect_fault(FaultKind::encoder_state, "is open");
  expect_works();
}

TEST_F(Misuse, AnEncoderThatIsNeverEnded) {
  NS::AutoreleasePool* inner = NS::AutoreleasePool::alloc()->init();
  MTL::CommandBuffer* forgotten = queue->commandBuffer();
  forgotten->computeCommandEncoder();
  inner->release();
  expect_fault(FaultKind::encoder_state, "released without endEncoding");
  expect_works();
}

TEST_F(Misuse, CommittingTwiceAndEncodingAfterCommit) {
  encode_add(encoder_, add_.get(), x_.get(), y_.get());
  end();
  MTL::CommandBuffer* never = queue->commandBuffer();
  never->waitUntilCompleted();
  expect_fault(FaultKind::command_buffer, "not committed");
  commands_->commit();
  expect_silence();
  commands_->commit();
  expect_fault(FaultKind::command_buffer, "committed already");
  EXPECT_EQ(commands_->computeCommandEncoder(), nullptr);
  expect_fault(FaultKind::command_buffer, "committed already");
  commands_->addCompletedHandler([](MTL::CommandBuffer*) {});
  expect_fault(FaultKind::command_buffer, "committed already");
  commands_->waitUntilCompleted();
  EXPECT_EQ(read(y_.get()), std::vector<float>(64, 2.0f));
}

TEST_F(Misuse, AHandlerThatWaitsForItself) {
  encode_add(encoder_, add_.get(), x_.get(), y_.get());
  end();
  commands_->addCompletedHandler([](MTL::CommandBuffer* done) { done->waitUntilCompleted(); });
  commands_->commit();
  commands_->waitUntilCompleted();
  expect_fault(FaultKind::command_buffer, "its own command buffer");
}

TEST_F(Misuse, TheQueueHasNoPlaceLeft) {
  DeviceOptions options;
  options.real_watchdog_seconds = 0.05;
  const auto other = NS::TransferPtr(create_device(options));
  const auto small = NS::TransferPtr(other->newCommandQueue(2));
  MTL::CommandBuffer* first = small->commandBuffer();
  EXPECT_NE(small->commandBuffer(), nullptr);
  EXPECT_EQ(small->commandBuffer(), nullptr);
  expect_fault(FaultKind::command_buffer, "no place left");
  first->commit();
  first->waitUntilCompleted();
  EXPECT_NE(small->commandBuffer(), nullptr);
  expect_works();
}

TEST_F(Misuse, PrivateMemoryIsNotForTheCpu) {
  const auto hidden = memory(256, MTL::ResourceStorageModePrivate);
  EXPECT_EQ(hidden->contents(), nullptr);
  expect_fault(FaultKind::storage_mode, "private");
  EXPECT_EQ(device->newBuffer("text", 4, MTL::ResourceStorageModePrivate), nullptr);
  expect_fault(FaultKind::storage_mode, "private");
  x_->didModifyRange(NS::Range(0, 4));
  expect_fault(FaultKind::storage_mode, "not managed");
  EXPECT_NE(x_->contents(), nullptr);
  expect_works();
}

TEST_F(Misuse, NoCopyMemoryIsWholePages) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages =
      static_cast<std::byte*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  EXPECT_EQ(device->newBuffer(pages + 64, page, 0, nullptr), nullptr);
  expect_fault(FaultKind::storage_mode, "64 past a page");
  EXPECT_EQ(device->newBuffer(pages, page + 4, 0, nullptr), nullptr);
  expect_fault(FaultKind::storage_mode, "whole pages");
  int freed = 0;
  auto buffer = NS::TransferPtr(device->newBuffer(pages, 2 * page, 0, [&](void* p, NS::UInteger bytes) {
    EXPECT_EQ(p, pages);
    freed += static_cast<int>(bytes);
  }));
  EXPECT_EQ(buffer->contents(), pages);
  buffer.reset();
  EXPECT_EQ(freed, static_cast<int>(2 * page));
  munmap(pages, 2 * page);
  expect_works();
}

TEST_F(Misuse, MemoryOfAResidencySetGoesBeforeItsCommit) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
  for (const bool commits : {true, false}) {
    NS::Error* error = nullptr;
    const auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), &error));
    ASSERT_TRUE(set);
    void* pages = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto buffer = NS::TransferPtr(device->newBuffer(pages, page, 0, nullptr));
    const NS::UInteger all = device->currentAllocatedSize();
    set->addAllocation(buffer.get());
    set->commit();
    set->removeAllocation(buffer.get());
    EXPECT_EQ(set->allocationCount(), 0u);
    if (commits) set->commit();
    buffer.reset();
    EXPECT_EQ(device->currentAllocatedSize(), commits ? all - page : all) << "the set keeps it until it commits";
    munmap(pages, page);
    set->commit();
    if (commits) {
      expect_silence();
    } else {
      expect_fault(FaultKind::in_flight, "had it");
    }
    EXPECT_EQ(device->currentAllocatedSize(), all - page);
  }
  expect_works();
}

TEST_F(Misuse, LengthsOfBuffers) {
  EXPECT_EQ(device->newBuffer(0, 0), nullptr);
  expect_fault(FaultKind::bad_range, "0 bytes");
  EXPECT_EQ(device->newBuffer(device->maxBufferLength() + 1, 0), nullptr);
  expect_fault(FaultKind::bad_range, "maxBufferLength");
  expect_works();
}

TEST_F(Misuse, BlitsOutOfRange) {
  end();
  MTL::BlitCommandEncoder* blit = commands_->blitCommandEncoder();
  blit->copyFromBuffer(x_.get(), 0, y_.get(), 128, 256);
  expect_fault(FaultKind::bad_range, "the destination ends");
  blit->copyFromBuffer(x_.get(), 2, y_.get(), 0, 4);
  expect_fault(FaultKind::bad_range, "multiples of 4");
  blit->copyFromBuffer(x_.get(), 0, x_.get(), 4, 8);
  expect_fault(FaultKind::bad_range, "overlap");
  blit->fillBuffer(y_.get(), NS::Range(252, 8), 0);
  expect_fault(FaultKind::bad_range, "ends before");
  blit->synchronizeResource(x_.get());
  expect_fault(FaultKind::storage_mode, "not managed");
  blit->copyFromBuffer(x_.get(), 0, y_.get(), 0, 256);
  blit->endEncoding();
  encoder_ = commands_->computeCommandEncoder();
  expect_works();
}

TEST_F(Misuse, UseAfterRelease) {
  MTL::Buffer* gone = device->newBuffer(256, 0);
  gone->setLabel(MTLSTR("weights"));
  gone->release();
  EXPECT_EQ(gone->length(), 0u);
  expect_fault(FaultKind::use_after_release, "MTL::Buffer \"weights\"");
  encoder_->setBuffer(gone, 0, 0);
  expect_fault(FaultKind::use_after_release, "the buffer was released");
  gone->release();
  expect_fault(FaultKind::over_release, "weights");
  expect_works();
}

TEST_F(Misuse, NoObjectAndOneOfAnotherClass) {
  encoder_->setBuffer(reinterpret_cast<MTL::Buffer*>(encoder_), 0, 0);
  expect_fault(FaultKind::wrong_class, "MTL::ComputeCommandEncoder");
  int number = 0;
  encoder_->setBuffer(reinterpret_cast<MTL::Buffer*>(&number), 0, 0);
  expect_fault(FaultKind::wrong_class, "no object");
  encoder_->setComputePipelineState(nullptr);
  expect_fault(FaultKind::nil_object, "the pipeline is nil");
  expect_works();
}

#if !CHIARO_SANITIZED  // the sanitizer tells it first
TEST_F(Misuse, AMessageToNil) {
  MTL::Buffer* volatile nothing = nullptr;
  MTL::Buffer* none = nothing;
  EXPECT_EQ(none->length(), 0u);
  expect_fault(FaultKind::nil_object, "MTL::Buffer::length");
  none->release();  // as on a Mac
  expect_works();
}
#endif

TEST_F(Misuse, ReleasedWhileACommandBufferUsesIt) {
  end();
  NS::AutoreleasePool* inner = NS::AutoreleasePool::alloc()->init();
  MTL::CommandBuffer* unretained = queue->commandBufferWithUnretainedReferences();
  auto y = memory(256);
  MTL::ComputeCommandEncoder* encoder = unretained->computeCommandEncoder();
  encode_add(encoder, add_.get(), x_.get(), y.get());
  encoder->endEncoding();
  unretained->commit();
  y.reset();  // before the wait
  expect_fault(FaultKind::in_flight, "keeps no references");
  unretained->waitUntilCompleted();
  inner->release();
  // After it: right. And a command buffer that retains: right at any time.
  MTL::CommandBuffer* retained = queue->commandBuffer();
  auto z = memory(256);
  encoder = retained->computeCommandEncoder();
  encode_add(encoder, add_.get(), x_.get(), z.get());
  encoder->endEncoding();
  retained->commit();
  z.reset();
  retained->waitUntilCompleted();
  EXPECT_EQ(retained->status(), MTL::CommandBufferStatusCompleted);
  expect_silence();
}

TEST_F(Misuse, AReleasedBufferIsGoneForTheProgramAlsoInFlight) {
  auto y = memory(256);
  MTL::Buffer* raw = y.get();
  encode_add(encoder_, add_.get(), x_.get(), raw);
  end();
  commands_->commit();
  y.reset();
  EXPECT_EQ(raw->length(), 0u);
  expect_fault(FaultKind::use_after_release, "was released");
  commands_->waitUntilCompleted();
}

TEST_F(Misuse, TheCpuWritesWhatTheGpuUses) {
  auto* seen = static_cast<float*>(x_->contents());
  const auto gate = NS::TransferPtr(device->newSharedEvent());
  end();
  MTL::CommandBuffer* waits = queue->commandBuffer();
  waits->encodeWait(gate.get(), 1);
  MTL::ComputeCommandEncoder* encoder = waits->computeCommandEncoder();
  encode_add(encoder, add_.get(), x_.get(), y_.get(), 32);  // the first half
  encoder->endEncoding();
  waits->commit();
  seen[40] = 7.0f;  // not used: right
  gate->setSignaledValue(1);
  waits->waitUntilCompleted();
  expect_silence();

  MTL::CommandBuffer* again = queue->commandBuffer();
  again->encodeWait(gate.get(), 2);
  encoder = again->computeCommandEncoder();
  encode_add(encoder, add_.get(), x_.get(), y_.get(), 32);
  encoder->endEncoding();
  again->commit();
  seen[4] = 7.0f;
  gate->setSignaledValue(2);
  again->waitUntilCompleted();
  const auto found = faults.take();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].kind, FaultKind::in_flight);
  EXPECT_NE(found[0].why.find("byte 18 "), std::string::npos) << found[0].text();  // 1.0f and 7.0f differ there
}

TEST_F(Misuse, TheCpuWritesAfterTheGpuWasFastButBeforeTheWait) {
  auto* seen = static_cast<float*>(x_->contents());
  encode_add(encoder_, add_.get(), x_.get(), y_.get());
  end();
  commands_->commit();
  while (commands_->GPUEndTime() == 0) std::this_thread::yield();  // asks for the time, not how it ended
  seen[0] = 5.0f;
  commands_->waitUntilCompleted();
  expect_fault(FaultKind::in_flight, "between commit and waitUntilCompleted");
  seen[0] = 6.0f;
  expect_silence();
}

TEST_F(Misuse, TheCpuFirstAsksForTheMemoryAfterCommit) {
  const auto gate = NS::TransferPtr(device->newSharedEvent());
  end();
  for (const bool before : {true, false}) {
    const auto x = floats(std::vector<float>(64, 1.0f));
    MTL::CommandBuffer* waits = queue->commandBuffer();
    waits->encodeWait(gate.get(), before ? 1 : 2);
    MTL::ComputeCommandEncoder* encoder = waits->computeCommandEncoder();
    encode_add(encoder, add_.get(), x.get(), y_.get());
    encoder->endEncoding();
    if (before) static_cast<float*>(x->contents())[4] = 7.0f;
    waits->commit();
    if (!before) static_cast<float*>(x->contents())[4] = 7.0f;
    gate->setSignaledValue(before ? 1 : 2);
    waits->waitUntilCompleted();
    if (before) {
      expect_silence();
      continue;
    }
    const auto found = faults.take();
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].kind, FaultKind::in_flight);
    EXPECT_NE(found[0].why.find("byte 18 "), std::string::npos) << found[0].text();
  }
}

TEST_F(Misuse, AFailureThatNobodyReads) {
  end();
  for (const bool reads : {false, true}) {
    NS::AutoreleasePool* inner = NS::AutoreleasePool::alloc()->init();
    fail_commit(1, MTL::CommandBufferErrorInternal);
    MTL::CommandBuffer* failing = queue->commandBuffer();
    failing->commit();
    failing->waitUntilCompleted();
    if (reads) {
      EXPECT_NE(failing->error(), nullptr);
    }
    inner->release();
    if (reads) {
      expect_silence();
    } else {
      expect_fault(FaultKind::unread_error, "nobody asked");
    }
  }
}

}  // namespace
}  // namespace softmetal
