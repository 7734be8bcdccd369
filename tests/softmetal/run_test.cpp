// Programs that are right: results, order, asynchrony, devices.
#include <atomic>
#include <thread>

#include "bench.h"

namespace softmetal {
namespace {

class Run : public Bench {};

TEST_F(Run, AKernelReadsAndWrites) {
  const auto add = pipeline("add_one");
  const auto x = floats(std::vector<float>(64, 2.0f)), y = memory(256);
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_add(encoder, add.get(), x.get(), y.get());
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
  EXPECT_EQ(commands->error(), nullptr);
  EXPECT_EQ(read(y.get()), std::vector<float>(64, 3.0f));
  EXPECT_GT(commands->GPUEndTime(), commands->GPUStartTime());
}

TEST_F(Run, ASerialEncoderRunsInOrder) {
  const auto add = pipeline("add_one"), twice = pipeline("double_it");
  const auto x = floats(std::vector<float>(64, 1.0f)), y = memory(256);
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_add(encoder, add.get(), x.get(), y.get());
  encode_double(encoder, twice.get(), y.get());
  encode_double(encoder, twice.get(), y.get());
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(read(y.get()), std::vector<float>(64, 8.0f));
}

TEST_F(Run, BlitsCopyAndFill) {
  const auto x = floats(std::vector<float>(64, 5.0f));
  const auto hidden = memory(256, MTL::ResourceStorageModePrivate), back = memory(256);
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::BlitCommandEncoder* encoder = commands->blitCommandEncoder();
  encoder->copyFromBuffer(x.get(), 0, hidden.get(), 0, 256);
  encoder->fillBuffer(hidden.get(), NS::Range(0, 128), 0);
  encoder->copyFromBuffer(hidden.get(), 0, back.get(), 0, 256);
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  std::vector<float> wanted(64, 5.0f);
  std::fill(wanted.begin(), wanted.begin() + 32, 0.0f);
  EXPECT_EQ(read(back.get()), wanted);
}

// Copies move whole words. What is no multiple of them goes into private memory so: the last word out, the CPU's bytes
// over it, and back.
TEST_F(Run, BytesThatAreNoWholeWordsGoThroughStaging) {
  const uint16_t halves[] = {0x3C00, 0x4000, 0x4200, 0x4400, 0x4500};  // 1 to 5
  const auto hidden = memory(12, MTL::ResourceStorageModePrivate), staging = memory(12), y = memory(20);
  auto* seen = static_cast<std::byte*>(staging->contents());
  const auto copy = [this](MTL::Buffer* from, MTL::Buffer* to) {
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::BlitCommandEncoder* encoder = commands->blitCommandEncoder();
    encoder->copyFromBuffer(from, 0, to, 0, 12);
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
  };
  copy(hidden.get(), staging.get());
  std::memcpy(seen, halves, sizeof(halves));
  copy(staging.get(), hidden.get());

  auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  const uint32_t type = 1;  // GPU_F16
  const int32_t step = 1;
  const bool negate = false;
  values->setConstantValue(&type, MTL::DataTypeUInt, NS::UInteger(0));
  values->setConstantValue(&step, MTL::DataTypeInt, NS::UInteger(1));
  values->setConstantValue(&negate, MTL::DataTypeBool, NS::UInteger(2));
  NS::Error* error = nullptr;
  auto function = NS::TransferPtr(library->newFunction(MTLSTR("convert"), values.get(), &error));
  ASSERT_TRUE(function) << to_text(error->localizedDescription());
  auto made = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(made) << to_text(error->localizedDescription());
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_add(encoder, made.get(), hidden.get(), y.get(), 5);
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted)
      << to_text(commands->error()->localizedDescription());
  EXPECT_EQ(read(y.get()), (std::vector<float>{1, 2, 3, 4, 5}));
}

TEST_F(Run, ManagedMemoryHasTwoCopies) {
  const auto twice = pipeline("double_it");
  const auto y = floats(std::vector<float>(64, 1.0f), MTL::ResourceStorageModeManaged);
  auto* seen = static_cast<float*>(y->contents());
  std::fill(seen, seen + 64, 3.0f);
  y->didModifyRange(NS::Range(0, 128));  // half of it
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_double(encoder, twice.get(), y.get());
  encoder->endEncoding();
  MTL::BlitCommandEncoder* blit = commands->blitCommandEncoder();
  blit->synchronizeResource(y.get());
  blit->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(seen[0], 6.0f);
  EXPECT_EQ(seen[63], 2.0f) << "the CPU's write was never carried over";
}

TEST_F(Run, FunctionConstantsMakeVariants) {
  const auto x = floats(std::vector<float>(64, 1.5f)), y = memory(256);
  auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  const uint32_t type = 0;
  const int32_t step = 4;
  const bool negate = true;
  values->setConstantValue(&type, MTL::DataTypeUInt, NS::UInteger(0));
  values->setConstantValue(&step, MTL::DataTypeInt, MTLSTR("STEP"));
  values->setConstantValue(&negate, MTL::DataTypeBool, NS::UInteger(2));
  NS::Error* error = nullptr;
  auto function = NS::TransferPtr(library->newFunction(MTLSTR("convert"), values.get(), &error));
  ASSERT_TRUE(function) << to_text(error->localizedDescription());
  auto made = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(made);
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_add(encoder, made.get(), x.get(), y.get());
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(read(y.get()), std::vector<float>(64, -6.0f));
}

TEST_F(Run, ArgumentsMayStandInABuffer) {
  const auto add = pipeline("add_one");
  const auto x = floats(std::vector<float>(64, 1.0f)), y = memory(256);
  const uint32_t args[] = {0, 0, 64, 0};
  const auto held = NS::TransferPtr(device->newBuffer(args, sizeof(args), 0));
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(add.get());
  const MTL::Buffer* buffers[] = {x.get(), y.get(), held.get()};
  const NS::UInteger offsets[] = {0, 0, 8};
  encoder->setBuffers(buffers, offsets, NS::Range(0, 3));
  encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(32, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(read(y.get()), std::vector<float>(64, 2.0f));
}

TEST_F(Run, TheNumberOfThreadgroupsMayStandInABuffer) {
  const auto twice = pipeline("double_it");
  const auto y = floats(std::vector<float>(128, 1.0f));
  const uint32_t groups[] = {2, 1, 1};
  const auto indirect = NS::TransferPtr(device->newBuffer(groups, sizeof(groups), 0));
  const chiaro::SoftmetalArgs args{128, 0};
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(twice.get());
  encoder->setBuffer(y.get(), 0, 0);
  encoder->setBytes(&args, sizeof(args), 1);
  encoder->dispatchThreadgroups(indirect.get(), 0, MTL::Size(64, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(read(y.get()), std::vector<float>(128, 2.0f));
}

TEST_F(Run, CommandBuffersRunInTheOrderOfTheirQueueOnAnotherThread) {
  const auto add = pipeline("add_one"), twice = pipeline("double_it");
  const auto y = floats(std::vector<float>(64, 1.0f));
  std::vector<int> order;
  std::atomic<bool> other_thread{false};
  const auto here = std::this_thread::get_id();
  std::vector<MTL::CommandBuffer*> all;
  for (int i = 0; i < 3; ++i) {
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encode_double(encoder, twice.get(), y.get());
    encoder->endEncoding();
    commands->addCompletedHandler([&order, &other_thread, here, i](MTL::CommandBuffer* done) {
      order.push_back(i);
      if (std::this_thread::get_id() != here) other_thread = true;
      EXPECT_EQ(done->status(), MTL::CommandBufferStatusCompleted);
    });
    all.push_back(commands);
  }
  all[1]->enqueue();  // before the first
  for (MTL::CommandBuffer* commands : all) commands->commit();
  for (MTL::CommandBuffer* commands : all) commands->waitUntilCompleted();
  EXPECT_EQ(order, (std::vector<int>{1, 0, 2}));
  EXPECT_TRUE(other_thread);
  EXPECT_EQ(read(y.get()), std::vector<float>(64, 8.0f));
}

// Whoever learns of the end may write at once, also where another thread has just learnt of it.
TEST_F(Run, TwoThreadsLearnOfTheEnd) {
  constexpr NS::UInteger kBytes = 8 << 20;
  const auto y = memory(kBytes);
  auto* seen = static_cast<uint8_t*>(y->contents());
  for (uint8_t round = 1; round <= 8; ++round) {
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::BlitCommandEncoder* encoder = commands->blitCommandEncoder();
    encoder->fillBuffer(y.get(), NS::Range(0, kBytes), round);
    encoder->endEncoding();
    commands->commit();
    std::thread polls([commands] {
      while (commands->status() < MTL::CommandBufferStatusCompleted) std::this_thread::yield();
    });
    commands->waitUntilCompleted();
    std::memset(seen, 100 + round, kBytes);
    polls.join();
  }
  expect_silence();
}

TEST_F(Run, EventsOrderTwoQueues) {
  const auto add = pipeline("add_one"), twice = pipeline("double_it");
  const auto x = floats(std::vector<float>(64, 1.0f)), y = memory(256);
  const auto second = NS::TransferPtr(device->newCommandQueue());
  const auto event = NS::TransferPtr(device->newEvent());
  // The one that waits is committed first.
  MTL::CommandBuffer* later = second->commandBuffer();
  later->encodeWait(event.get(), 7);
  MTL::ComputeCommandEncoder* encoder = later->computeCommandEncoder();
  encode_double(encoder, twice.get(), y.get());
  encoder->endEncoding();
  later->commit();
  MTL::CommandBuffer* first = queue->commandBuffer();
  encoder = first->computeCommandEncoder();
  encode_add(encoder, add.get(), x.get(), y.get());
  encoder->endEncoding();
  first->encodeSignalEvent(event.get(), 7);
  first->commit();
  later->waitUntilCompleted();
  EXPECT_EQ(read(y.get()), std::vector<float>(64, 4.0f));
  first->waitUntilCompleted();
}

TEST_F(Run, SharedEventsOrderTheCpu) {
  const auto event = NS::TransferPtr(device->newSharedEvent());
  const auto listener = NS::TransferPtr(MTL::SharedEventListener::alloc()->init());
  std::atomic<uint64_t> heard{0};
  event->notifyListener(listener.get(), 2, [&heard](MTL::SharedEvent*, uint64_t value) { heard = value; });
  MTL::CommandBuffer* commands = queue->commandBuffer();
  commands->encodeWait(event.get(), 1);
  commands->encodeSignalEvent(event.get(), 2);
  commands->commit();
  EXPECT_FALSE(event->waitUntilSignaledValue(2, 20));
  event->setSignaledValue(1);
  EXPECT_TRUE(event->waitUntilSignaledValue(2, 10000));
  commands->waitUntilCompleted();
  EXPECT_EQ(heard, 2u);
  EXPECT_EQ(event->signaledValue(), 2u);
}

TEST_F(Run, AQueueMayGoBeforeItsWorkIsDone) {
  const auto twice = pipeline("double_it");
  auto y = floats(std::vector<float>(64, 1.0f));
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_double(encoder, twice.get(), y.get());
  encoder->endEncoding();
  commands->commit();
  queue.reset();
  y.reset();  // the command buffer keeps it
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
}

TEST_F(Run, SeveralDevicesAtOnce) {
  const auto guest = NS::TransferPtr(create_device("apple5-vm"));
  EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyApple7));
  EXPECT_FALSE(device->supportsFamily(MTL::GPUFamilyApple8));
  EXPECT_TRUE(guest->supportsFamily(MTL::GPUFamilyApple5));
  EXPECT_FALSE(guest->supportsFamily(MTL::GPUFamilyApple6));
  EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyMetal3));
  EXPECT_FALSE(guest->supportsFamily(MTL::GPUFamilyMetal3));
  EXPECT_EQ(to_text(guest->name()), "softmetal apple5-vm");
  const auto other = NS::TransferPtr(new_library(guest.get()));
  auto function = NS::TransferPtr(other->newFunction(MTLSTR("simd_total")));
  NS::Error* error = nullptr;
  EXPECT_FALSE(NS::TransferPtr(guest->newComputePipelineState(function.get(), &error)));
  EXPECT_NE(to_text(error->localizedDescription()).find("simdgroup reductions"), std::string::npos);
  EXPECT_TRUE(pipeline("simd_total"));
}

TEST_F(Run, AHostedRunnerExecutesWhatItDoesNotAdvertise) {
  DeviceOptions options;
  options.profile = "apple5-vm";
  options.unadvertised = true;
  take_device(options);
  EXPECT_FALSE(device->supportsFamily(MTL::GPUFamilyApple7));
  const auto total = pipeline("simd_total");
  const auto x = floats(std::vector<float>(64, 1.0f)), y = memory(4);
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_add(encoder, total.get(), x.get(), y.get());
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(read(y.get()), std::vector<float>{64.0f});
}

TEST_F(Run, WithoutChecksTheBytesAreTheSame) {
  set_checks(device.get(), {false, false, false});
  const auto total = pipeline("group_total");
  const auto x = floats(std::vector<float>(64, 0.5f)), y = memory(4);
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_add(encoder, total.get(), x.get(), y.get());
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(read(y.get()), std::vector<float>{32.0f});
}

TEST_F(Run, TheSystemsDeviceIsTheSameAsLongAsItIsHeld) {
  set_devices({{.profile = "apple8"}, {.profile = "apple9"}});
  const auto a = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  const auto b = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  EXPECT_EQ(a.get(), b.get());
  const auto all = NS::TransferPtr(MTL::CopyAllDevices());
  ASSERT_EQ(all->count(), 2u);
  EXPECT_EQ(all->object<MTL::Device>(0), a.get());
  EXPECT_EQ(to_text(all->object<MTL::Device>(1)->name()), "softmetal apple9");
  set_devices({});
  EXPECT_EQ(MTL::CreateSystemDefaultDevice(), nullptr);
}

TEST_F(Run, ThreadsThatAskAtOnceGetOneDevice) {
  set_devices({{.profile = "apple8", .threads = 1}});
  for (int round = 0; round < 40; ++round) {
    std::atomic<int> here{0}, held{0};
    std::atomic<MTL::Device*> found[2] = {};
    const auto ask = [&](int me) {
      ++here;
      while (here < 2) std::this_thread::yield();
      // The last count may go on one thread while the other asks.
      for (int i = 0; i < 20; ++i) NS::TransferPtr(MTL::CreateSystemDefaultDevice());
      const auto mine = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
      found[me] = mine.get();
      ++held;
      while (held < 2) std::this_thread::yield();
    };
    std::thread other(ask, 1);
    ask(0);
    other.join();
    ASSERT_NE(found[0].load(), nullptr);
    ASSERT_EQ(found[0].load(), found[1].load());
  }
  set_devices({});
}

TEST_F(Run, LaunchesAreObserved) {
  std::vector<Launch> launches;
  on_launch(device.get(), [&launches](const Launch& launch) { launches.push_back(launch); });
  const auto twice = pipeline("double_it");
  const auto y = floats(std::vector<float>(64, 1.0f));
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_double(encoder, twice.get(), y.get());
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].kernel, "double_it");
  EXPECT_EQ(launches[0].bytes_read, 256.0);
  EXPECT_EQ(launches[0].bytes_written, 256.0);
}

}  // namespace
}  // namespace softmetal
