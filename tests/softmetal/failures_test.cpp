// Calls that are told to fail, kernels that are wrong, texts that were not compiled: each becomes the error that a Mac
// would give, and what comes after works.
#include <set>

#include "bench.h"
#include "softmetal/kernels.h"

namespace softmetal {
namespace {

class Failures : public Bench {
 protected:
  void TearDown() override {
    reset_failures();
    Bench::TearDown();
  }
  // One command buffer that runs `kernel` on y; its status.
  // (of 2^32 - 1: in one threadgroup)
  MTL::CommandBufferStatus run(const char* kernel, MTL::Buffer* y, uint32_t count) {
    const auto made = pipeline(kernel);
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    if (count == 0xFFFFFFFF) {
      const chiaro::SoftmetalArgs args{count, 0};
      encoder->setComputePipelineState(made.get());
      encoder->setBuffer(y, 0, 0);
      encoder->setBytes(&args, sizeof(args), 1);
      encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(32, 1, 1));
    } else {
      encode_double(encoder, made.get(), y, count);
    }
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    NS::Error* error = commands->error();
    code_ = error == nullptr ? 0 : error->code();
    text_ = error == nullptr ? "" : to_text(error->localizedDescription());
    if (error != nullptr) {
      EXPECT_EQ(to_text(error->domain()), "MTLCommandBufferErrorDomain");
    }
    return commands->status();
  }
  NS::Integer code_ = 0;
  std::string text_;
};

TEST_F(Failures, ARaceInAKernelIsAnErrorOfTheCommandBuffer) {
  const auto y = floats(std::vector<float>(64, 1.0f));
  EXPECT_EQ(run("racy", y.get(), 64), MTL::CommandBufferStatusError);
  EXPECT_EQ(code_, NS::Integer{MTL::CommandBufferErrorInternal});
  EXPECT_NE(text_.find("race on device memory"), std::string::npos) << text_;
  EXPECT_NE(text_.find("kernels.gpu:"), std::string::npos) << text_;
  EXPECT_EQ(run("racy", y.get(), 1), MTL::CommandBufferStatusCompleted) << "one thread alone is right";
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusCompleted);
}

TEST_F(Failures, AccessPastTheEndIsAPageFault) {
  const auto y = floats(std::vector<float>(64, 1.0f));
  EXPECT_EQ(run("double_it", y.get(), 65), MTL::CommandBufferStatusError);
  EXPECT_EQ(code_, NS::Integer{MTL::CommandBufferErrorPageFault});
  EXPECT_NE(text_.find("element 64"), std::string::npos) << text_;
}

// What a kernel wrote before it failed is not the CPU's.
TEST_F(Failures, WhatAFailedKernelWroteIsItsOwn) {
  const auto twice = pipeline("double_it");
  const auto y = floats(std::vector<float>(6400, 1.0f));
  y->contents();
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode_double(encoder, twice.get(), y.get(), 6400);
  encode_double(encoder, twice.get(), y.get(), 6401);
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
  ASSERT_NE(commands->error(), nullptr);
  EXPECT_EQ(commands->error()->code(), NS::Integer{MTL::CommandBufferErrorPageFault});
  EXPECT_EQ(read(y.get())[0], 4.0f) << "the second kernel wrote nothing: nothing was tested";
  expect_silence();
}

TEST_F(Failures, ReadingWhatWasNeverWritten) {
  auto y = memory(256, MTL::ResourceStorageModePrivate);
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusError);
  EXPECT_NE(text_.find("before anything was written"), std::string::npos) << text_;
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::BlitCommandEncoder* blit = commands->blitCommandEncoder();
  blit->fillBuffer(y.get(), NS::Range(0, 256), 0);
  blit->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusCompleted) << text_;
}

TEST_F(Failures, TheWatchdogOfTheProfileAndTheRealOne) {
  DeviceOptions options;
  options.watchdog_seconds = 1e-9;
  take_device(options);
  auto y = floats(std::vector<float>(64, 1.0f));
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusError);
  EXPECT_EQ(code_, NS::Integer{MTL::CommandBufferErrorTimeout});
  options.watchdog_seconds = 0;
  options.real_watchdog_seconds = 0.02;
  y.reset();
  take_device(options);
  y = floats(std::vector<float>(64, 1.0f));
  EXPECT_EQ(run("long_run", y.get(), 0xFFFFFFFF), MTL::CommandBufferStatusError);
  EXPECT_EQ(code_, NS::Integer{MTL::CommandBufferErrorTimeout});
  EXPECT_EQ(run("long_run", y.get(), 8), MTL::CommandBufferStatusCompleted);
  MTL::CommandBuffer* commands = queue->commandBuffer();
  const auto event = NS::TransferPtr(device->newEvent());
  commands->encodeWait(event.get(), 1);  // nobody signals it
  commands->commit();
  commands->waitUntilCompleted();
  ASSERT_NE(commands->error(), nullptr);
  EXPECT_EQ(commands->error()->code(), NS::Integer{MTL::CommandBufferErrorTimeout});
}

TEST_F(Failures, MoreThanTheWorkingSet) {
  DeviceOptions options;
  options.working_set_bytes = 32768;
  options.memory_bytes = 65536;
  take_device(options);
  EXPECT_EQ(device->recommendedMaxWorkingSetSize(), 32768u);
  const auto y = floats(std::vector<float>(64, 1.0f)), more = memory(32768);
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusCompleted);
  auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
  const auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), nullptr));
  set->addAllocation(more.get());
  queue->addResidencySet(set.get());
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusCompleted) << "the set is not committed";
  set->commit();
  EXPECT_EQ(set->allocatedSize(), 32768u);
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusError);
  EXPECT_EQ(code_, NS::Integer{MTL::CommandBufferErrorOutOfMemory});
  queue->removeResidencySet(set.get());
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusCompleted);
  EXPECT_EQ(device->currentAllocatedSize(), 49152u);
  EXPECT_EQ(device->newBuffer(32768, 0), nullptr) << "there is no memory for it";
}

TEST_F(Failures, EveryCallThatCanFailDoes) {
  const auto y = floats(std::vector<float>(64, 1.0f));
  const std::string source = softmetal_test_metal;
  // All of them, as a careful program does them; which one was refused, or nothing.
  const auto program = [&]() -> std::string {
    auto mine = NS::TransferPtr(create_device("apple7"));
    if (!mine) return "create_device";
    auto its_queue = NS::TransferPtr(mine->newCommandQueue());
    if (!its_queue) return "new_command_queue";
    auto buffer = NS::TransferPtr(mine->newBuffer(256, 0));
    if (!buffer) return "new_buffer";
    NS::Error* error = nullptr;
    auto its_library =
        NS::TransferPtr(mine->newLibrary(NS::String::string(source.c_str(), NS::UTF8StringEncoding), nullptr, &error));
    if (!its_library) return error != nullptr ? "new_library" : "no log";
    auto function = NS::TransferPtr(its_library->newFunction(MTLSTR("double_it")));
    if (!function) return "new_function";
    auto made = NS::TransferPtr(mine->newComputePipelineState(function.get(), &error));
    if (!made) return error != nullptr ? "new_pipeline" : "no error";
    auto event = NS::TransferPtr(mine->newEvent());
    if (!event) return "new_event";
    auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
    auto set = NS::TransferPtr(mine->newResidencySet(descriptor.get(), &error));
    if (!set) return "new_residency_set";
    MTL::CommandBuffer* commands = its_queue->commandBuffer();
    if (commands == nullptr) return "command_buffer";
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    if (encoder == nullptr) return "encoder";
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->error() == nullptr) return "";
    return commands->error()->code() == NS::Integer{MTL::CommandBufferErrorDeviceRemoved} ? "device_lost" : "commit";
  };
  reset_call_counts();
  EXPECT_EQ(program(), "");
  const int64_t all = calls_of_any_kind();
  ASSERT_EQ(all, kCalls);
  std::set<std::string> seen;
  for (int64_t nth = 1; nth <= all; ++nth) {
    NS::AutoreleasePool* inner = NS::AutoreleasePool::alloc()->init();
    fail_any(static_cast<int>(nth));
    const std::string failed = program();
    EXPECT_NE(failed, "") << nth;
    seen.insert(failed);
    reset_failures();
    EXPECT_EQ(program(), "") << "after " << failed;
    inner->release();
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(all));
  for (int i = 0; i < kCalls; ++i) {
    const auto call = static_cast<Call>(i);
    fail(call);
    EXPECT_EQ(program(), call_name(call));
  }
}

TEST_F(Failures, TheNthCallFailsAndTheOneAfterDoesNot) {
  fail(Call::new_buffer, 2, 2);
  const auto first = memory(16), second = memory(16), third = memory(16), fourth = memory(16);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_FALSE(third);
  EXPECT_TRUE(fourth);
  const auto y = floats(std::vector<float>(64, 1.0f));
  fail_commit(1, MTL::CommandBufferErrorOutOfMemory);
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusError);
  EXPECT_EQ(code_, NS::Integer{MTL::CommandBufferErrorOutOfMemory});
  EXPECT_EQ(read(y.get())[0], 1.0f) << "nothing ran";
  EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusCompleted);
}

TEST_F(Failures, ALostDeviceStaysLost) {
  const auto y = floats(std::vector<float>(64, 1.0f));
  fail(Call::device_lost);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run("double_it", y.get(), 64), MTL::CommandBufferStatusError);
    EXPECT_EQ(code_, NS::Integer{MTL::CommandBufferErrorDeviceRemoved});
  }
  EXPECT_EQ(device->newBuffer(16, 0), nullptr);
}

TEST_F(Failures, AnotherTextIsACompileError) {
  std::string text = softmetal_test_metal;
  text.insert(text.find("2.0f"), "1.0f + ");
  NS::Error* error = nullptr;
  EXPECT_EQ(device->newLibrary(NS::String::string(text.c_str(), NS::UTF8StringEncoding), nullptr, &error), nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(to_text(error->domain()), "MTLLibraryErrorDomain");
  EXPECT_EQ(error->code(), NS::Integer{MTL::LibraryErrorCompileFailure});
  const std::string log = to_text(error->localizedDescription());
  EXPECT_NE(log.find("compiled from another text, 'softmetal_test'"), std::string::npos) << log;
  EXPECT_NE(log.find("1.0f + 2.0f"), std::string::npos) << log;
  EXPECT_EQ(
      device->newLibrary(MTLSTR("kernel void unknown(device float* x [[buffer(0)]]) { x[0] = 1; }"), nullptr, &error),
      nullptr);
  EXPECT_NE(to_text(error->localizedDescription()).find("'unknown' is not registered"), std::string::npos);
  EXPECT_NE(register_library("broken", "kernel void unknown(device float* x) {}", std::span<const Kernel>()), "");
}

TEST_F(Failures, FunctionsAndTheirConstants) {
  NS::Error* error = nullptr;
  EXPECT_EQ(library->newFunction(MTLSTR("nothing")), nullptr);
  auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  EXPECT_EQ(library->newFunction(MTLSTR("nothing"), values.get(), &error), nullptr);
  EXPECT_EQ(error->code(), NS::Integer{MTL::LibraryErrorFunctionNotFound});
  const uint32_t type = 0;
  values->setConstantValue(&type, MTL::DataTypeUInt, NS::UInteger(0));
  EXPECT_EQ(library->newFunction(MTLSTR("convert"), values.get(), &error), nullptr);
  EXPECT_NE(to_text(error->localizedFailureReason()).find("(STEP) has no value"), std::string::npos);
  values->setConstantValue(&type, MTL::DataTypeUInt, NS::UInteger(1));
  EXPECT_EQ(library->newFunction(MTLSTR("convert"), values.get(), &error), nullptr);
  EXPECT_NE(to_text(error->localizedFailureReason()).find("is a int in the text"), std::string::npos);
  auto bare = NS::TransferPtr(library->newFunction(MTLSTR("convert")));
  ASSERT_TRUE(bare);
  EXPECT_EQ(device->newComputePipelineState(bare.get(), &error), nullptr);
  EXPECT_NE(to_text(error->localizedDescription()).find("has no value"), std::string::npos);
  EXPECT_TRUE(NS::TransferPtr(library->newFunction(MTLSTR("add_one"), values.get(), &error))) << "it uses none";
  EXPECT_EQ(library->functionNames()->count(), 7u);
}

}  // namespace
}  // namespace softmetal
