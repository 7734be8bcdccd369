// Order between commands: each missing barrier, fence, event or wait is found, whatever came out; each one that is
// there is enough.
#include <initializer_list>
#include <thread>

#include "bench.h"

namespace softmetal {
namespace {

constexpr MTL::ResourceOptions kUntracked = MTL::ResourceHazardTrackingModeUntracked;

class Hazard : public Bench {
 protected:
  void SetUp() override {
    Bench::SetUp();
    add_ = pipeline("add_one");
    twice_ = pipeline("double_it");
    x_ = floats(std::vector<float>(128, 1.0f));
    y_ = floats(std::vector<float>(128, 1.0f));
    free_ = floats(std::vector<float>(128, 1.0f), kUntracked);
  }
  void TearDown() override {
    add_.reset();
    twice_.reset();
    x_.reset();
    y_.reset();
    free_.reset();
    Bench::TearDown();
  }
  void finish(MTL::CommandBuffer* commands) {
    commands->commit();
    commands->waitUntilCompleted();
    take_error({commands});
  }
  // Of those that are complete, the last one that failed.
  void take_error(std::initializer_list<MTL::CommandBuffer*> all) {
    failed_ = false;
    error_.clear();
    for (MTL::CommandBuffer* one : all) {
      if (one->status() != MTL::CommandBufferStatusError) continue;
      failed_ = true;
      error_ = to_text(one->error()->localizedDescription());
    }
  }
  void expect_hazard(const std::string& text = "nothing orders") {
    expect_fault(FaultKind::hazard, text);
    EXPECT_TRUE(failed_);
    EXPECT_NE(error_.find("hazard"), std::string::npos) << error_;
  }
  void expect_right() {
    expect_silence();
    EXPECT_FALSE(failed_) << error_;
  }

  NS::SharedPtr<MTL::ComputePipelineState> add_, twice_;
  NS::SharedPtr<MTL::Buffer> x_, y_, free_;
  bool failed_ = false;
  std::string error_;
};

TEST_F(Hazard, AConcurrentEncoderNeedsABarrier) {
  enum class With { nothing, scope, resource, other_resource };
  for (const With with : {With::nothing, With::scope, With::resource, With::other_resource}) {
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    encode_add(encoder, add_.get(), x_.get(), y_.get());
    const MTL::Resource* mine[] = {y_.get()};
    const MTL::Resource* other[] = {x_.get()};
    if (with == With::scope) encoder->memoryBarrier(MTL::BarrierScopeBuffers);
    if (with == With::resource) encoder->memoryBarrier(mine, 1);
    if (with == With::other_resource) encoder->memoryBarrier(other, 1);
    encode_double(encoder, twice_.get(), y_.get());
    encoder->endEncoding();
    finish(commands);
    if (with == With::scope || with == With::resource) {
      expect_right();
    } else {
      expect_hazard("kernel 'add_one' writes it");
    }
  }
}

TEST_F(Hazard, BytesCountNotBuffers) {
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  encode_double(encoder, twice_.get(), y_.get(), 64, 0);
  encode_double(encoder, twice_.get(), y_.get(), 64, 64);  // the other half
  encode_add(encoder, add_.get(), x_.get(), free_.get());
  encode_double(encoder, twice_.get(), x_.get(), 64, 64);  // what the one before does not read
  encoder->endEncoding();
  finish(commands);
  expect_right();
  commands = queue->commandBuffer();
  encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  encode_double(encoder, twice_.get(), y_.get(), 64, 0);
  encode_double(encoder, twice_.get(), y_.get(), 64, 63);  // one float of both
  encoder->endEncoding();
  finish(commands);
  expect_hazard("byte 252 of MTL::Buffer");
}

TEST_F(Hazard, AReadBeforeAWriteIsOneToo) {
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  encode_add(encoder, add_.get(), x_.get(), y_.get());
  encode_double(encoder, twice_.get(), x_.get());
  encoder->endEncoding();
  finish(commands);
  expect_hazard("kernel 'add_one' reads it");
  commands = queue->commandBuffer();
  encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  encode_add(encoder, add_.get(), x_.get(), y_.get());
  encode_add(encoder, add_.get(), x_.get(), free_.get());  // both read
  encoder->endEncoding();
  finish(commands);
  expect_right();
}

TEST_F(Hazard, UntrackedBuffersNeedAFenceBetweenEncoders) {
  for (const bool tracked : {true, false}) {
    for (const bool fenced : {true, false}) {
      const auto fence = NS::TransferPtr(device->newFence());
      MTL::Buffer* target = tracked ? y_.get() : free_.get();
      MTL::CommandBuffer* commands = queue->commandBuffer();
      MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
      encode_double(encoder, twice_.get(), target);
      if (fenced) encoder->updateFence(fence.get());
      encoder->endEncoding();
      MTL::BlitCommandEncoder* blit = commands->blitCommandEncoder();
      if (fenced) blit->waitForFence(fence.get());
      blit->fillBuffer(target, NS::Range(0, 16), 0);
      blit->endEncoding();
      finish(commands);
      if (tracked || fenced) {
        expect_right();
      } else {
        expect_hazard("a fill writes");
      }
    }
  }
}

TEST_F(Hazard, UntrackedBuffersNeedMoreThanTheOrderOfAQueue) {
  for (const bool waits : {true, false}) {
    MTL::CommandBuffer* first = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = first->computeCommandEncoder();
    encode_double(encoder, twice_.get(), free_.get());
    encoder->endEncoding();
    first->commit();
    if (waits) first->waitUntilCompleted();
    MTL::CommandBuffer* second = queue->commandBuffer();
    encoder = second->computeCommandEncoder();
    encode_double(encoder, twice_.get(), free_.get());
    encoder->endEncoding();
    finish(second);
    if (waits) {
      expect_right();
    } else {
      expect_hazard();
    }
  }
}

TEST_F(Hazard, QueuesNeedAnEventAlsoForTrackedBuffers) {
  const auto other = NS::TransferPtr(device->newCommandQueue());
  for (const bool with_event : {true, false}) {
    const auto event = NS::TransferPtr(device->newEvent());
    MTL::CommandBuffer* first = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = first->computeCommandEncoder();
    encode_double(encoder, twice_.get(), y_.get());
    encoder->endEncoding();
    if (with_event) first->encodeSignalEvent(event.get(), 1);
    MTL::CommandBuffer* second = other->commandBuffer();
    if (with_event) second->encodeWait(event.get(), 1);
    encoder = second->computeCommandEncoder();
    encode_double(encoder, twice_.get(), y_.get());
    encoder->endEncoding();
    first->commit();
    second->commit();
    first->waitUntilCompleted();
    second->waitUntilCompleted();
    // Either may come first, and the later one is told.
    take_error({first, second});
    if (with_event) {
      expect_right();
    } else {
      expect_hazard();
    }
  }
}

// A fence orders the command buffers of one queue, and nothing across queues.
TEST_F(Hazard, AFenceIsOfOneQueue) {
  const auto other = NS::TransferPtr(device->newCommandQueue());
  for (MTL::CommandQueue* const later : {queue.get(), other.get()}) {
    const auto fence = NS::TransferPtr(device->newFence());
    MTL::CommandBuffer* first = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = first->computeCommandEncoder();
    encode_double(encoder, twice_.get(), free_.get());
    encoder->updateFence(fence.get());
    encoder->endEncoding();
    first->commit();
    while (first->GPUEndTime() == 0) std::this_thread::yield();  // asks for the time, not how it ended
    MTL::CommandBuffer* second = later->commandBuffer();
    encoder = second->computeCommandEncoder();
    encoder->waitForFence(fence.get());
    encode_double(encoder, twice_.get(), free_.get());
    encoder->endEncoding();
    finish(second);
    first->waitUntilCompleted();
    if (later == queue.get()) {
      expect_right();
    } else {
      expect_hazard();
    }
  }
}

TEST_F(Hazard, AFenceCarriesWhatAnEncoderWaitedFor) {
  const auto one = NS::TransferPtr(device->newFence()), two = NS::TransferPtr(device->newFence());
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_double(encoder, twice_.get(), free_.get());
  encoder->updateFence(one.get());
  encoder->endEncoding();
  encoder = commands->computeCommandEncoder();
  encoder->waitForFence(one.get());
  encode_double(encoder, twice_.get(), x_.get());
  encoder->updateFence(two.get());
  encoder->endEncoding();
  encoder = commands->computeCommandEncoder();
  encoder->waitForFence(two.get());
  encode_double(encoder, twice_.get(), free_.get());
  encoder->endEncoding();
  finish(commands);
  expect_right();
}

TEST_F(Hazard, MemoryThatIsUsedAgainStartsAnew) {
  for (int i = 0; i < 3; ++i) {
    const auto fresh = floats(std::vector<float>(128, 1.0f), kUntracked);
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encode_double(encoder, twice_.get(), fresh.get());
    encoder->endEncoding();
    finish(commands);
    expect_right();
  }
}

}  // namespace
}  // namespace softmetal
