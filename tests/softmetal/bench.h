// A device with the tests' kernels, and short ways to what every test does.
#pragma once

#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "args.h"
#include "softmetal/softmetal.h"
#include "softmetal_test_metal.h"

namespace softmetal {

inline std::string to_text(const NS::String* string) {
  return string == nullptr ? "" : string->utf8String();
}

// Every test runs in an autorelease pool, collects its faults, and must leave nothing alive.
class Bench : public ::testing::Test {
 protected:
  Bench() : pool_(NS::AutoreleasePool::alloc()->init()) {}

  void SetUp() override { make_device("apple7"); }
  void TearDown() override {
    queue.reset();
    library.reset();
    device.reset();
    pool_->drain();
    for (const LiveObject& object : live_objects()) {
      ADD_FAILURE() << "left alive: " << object.type << " " << object.label << " with " << object.count << " counts";
    }
    for (const Fault& fault : faults.faults()) ADD_FAILURE() << "unexpected " << fault.text();
  }
  void make_device(const char* profile) {
    DeviceOptions options;
    options.profile = profile;
    options.threads = 2;
    take_device(options);
  }
  void take_device(const DeviceOptions& options) {
    device = NS::TransferPtr(create_device(options));
    ASSERT_TRUE(device);
    queue = NS::TransferPtr(device->newCommandQueue());
    library = NS::TransferPtr(new_library(device.get()));
    ASSERT_TRUE(library);
  }
  static MTL::Library* new_library(MTL::Device* on) {
    return on->newLibrary(NS::String::string(softmetal_test_metal, NS::UTF8StringEncoding), nullptr, nullptr);
  }

  NS::SharedPtr<MTL::ComputePipelineState> pipeline(const char* kernel) { return pipeline(kernel, library.get()); }
  static NS::SharedPtr<MTL::ComputePipelineState> pipeline(const char* kernel, MTL::Library* from) {
    auto function = NS::TransferPtr(from->newFunction(NS::String::string(kernel, NS::UTF8StringEncoding)));
    NS::Error* error = nullptr;
    auto made = NS::TransferPtr(from->device()->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(made) << to_text(error->localizedDescription());
    return made;
  }
  NS::SharedPtr<MTL::Buffer> floats(const std::vector<float>& values, MTL::ResourceOptions options = 0) {
    return NS::TransferPtr(device->newBuffer(values.data(), values.size() * sizeof(float), options));
  }
  NS::SharedPtr<MTL::Buffer> memory(NS::UInteger bytes, MTL::ResourceOptions options = 0) {
    return NS::TransferPtr(device->newBuffer(bytes, options));
  }
  static std::vector<float> read(MTL::Buffer* buffer) {
    std::vector<float> values(buffer->length() / sizeof(float));
    std::memcpy(values.data(), buffer->contents(), buffer->length());
    return values;
  }

  // y = x + 1 over `count` floats from `offset` on.
  static void encode_add(MTL::ComputeCommandEncoder* encoder, MTL::ComputePipelineState* add, MTL::Buffer* x,
                         MTL::Buffer* y, uint32_t count = 64, uint32_t offset = 0) {
    const chiaro::SoftmetalArgs args{count, offset};
    encoder->setComputePipelineState(add);
    encoder->setBuffer(x, 0, 0);
    encoder->setBuffer(y, 0, 1);
    encoder->setBytes(&args, sizeof(args), 2);
    encoder->dispatchThreadgroups(MTL::Size((count + 63) / 64, 1, 1), MTL::Size(64, 1, 1));
  }
  // y = 2 y.
  static void encode_double(MTL::ComputeCommandEncoder* encoder, MTL::ComputePipelineState* twice, MTL::Buffer* y,
                            uint32_t count = 64, uint32_t offset = 0) {
    const chiaro::SoftmetalArgs args{count, offset};
    encoder->setComputePipelineState(twice);
    encoder->setBuffer(y, 0, 0);
    encoder->setBytes(&args, sizeof(args), 1);
    encoder->dispatchThreadgroups(MTL::Size((count + 63) / 64, 1, 1), MTL::Size(64, 1, 1));
  }

  // The one fault since the last call, which must be of that kind and mention `text`.
  void expect_fault(FaultKind kind, const std::string& text = "") {
    const std::vector<Fault> found = faults.take();
    ASSERT_EQ(found.size(), 1u) << (found.size() > 1 ? found[0].text() + "\n" + found[1].text() : "no fault");
    EXPECT_EQ(fault_name(found[0].kind), fault_name(kind)) << found[0].text();
    EXPECT_NE(found[0].text().find(text), std::string::npos) << found[0].text();
  }
  void expect_silence() {
    for (const Fault& fault : faults.take()) ADD_FAILURE() << fault.text();
  }

  NS::AutoreleasePool* pool_;
  FaultCollector faults;
  NS::SharedPtr<MTL::Device> device;
  NS::SharedPtr<MTL::CommandQueue> queue;
  NS::SharedPtr<MTL::Library> library;
};

}  // namespace softmetal
