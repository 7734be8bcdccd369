// Blurs a line of floats and adds it up, in plain metal-cpp: on a Mac this file compiles against Apple's headers.
//   example          runs both kernels and prints the total
//   example race     runs a kernel that lacks a barrier
//   example foreign  binds a buffer of another GPU
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "blur_args.h"
#include "blur_example_metal.h"

namespace {

template <class T>
NS::SharedPtr<T> owned(T* object) {
  return NS::TransferPtr(object);
}

NS::SharedPtr<MTL::ComputePipelineState> make_pipeline(MTL::Device* device, MTL::Library* library, const char* name) {
  const uint32_t radius = 2;
  auto constants = owned(MTL::FunctionConstantValues::alloc()->init());
  constants->setConstantValue(&radius, MTL::DataTypeUInt, NS::UInteger(0));
  NS::Error* error = nullptr;
  auto function =
      owned(library->newFunction(NS::String::string(name, NS::UTF8StringEncoding), constants.get(), &error));
  if (!function) return {};
  return owned(device->newComputePipelineState(function.get(), &error));
}

int fail(const char* what, NS::Error* error) {
  std::fprintf(stderr, "%s: %s\n", what, error == nullptr ? "" : error->localizedDescription()->utf8String());
  return 1;
}

int run(const char* mode) {
  auto device = owned(MTL::CreateSystemDefaultDevice());
  auto devices = owned(MTL::CopyAllDevices());
  if (!device) return fail("there is no GPU", nullptr);
  auto queue = owned(device->newCommandQueue());

  NS::Error* error = nullptr;
  auto library =
      owned(device->newLibrary(NS::String::string(blur_example_metal, NS::UTF8StringEncoding), nullptr, &error));
  if (!library) return fail("the kernels do not compile", error);
  const bool race = std::strcmp(mode, "race") == 0, foreign = std::strcmp(mode, "foreign") == 0;
  auto blur = make_pipeline(device.get(), library.get(), "blur");
  auto total = make_pipeline(device.get(), library.get(), race ? "racy_total" : "total");
  if (!blur || !total) return fail("no pipeline", nullptr);

  const std::vector<float> line(1000, 0.5f);
  const NS::UInteger bytes = line.size() * sizeof(float);
  auto x = owned(device->newBuffer(line.data(), bytes, MTL::ResourceStorageModeShared));
  auto y = owned(device->newBuffer(bytes, MTL::ResourceStorageModePrivate));
  auto* other = devices->object<MTL::Device>(devices->count() - 1);
  auto sum = owned((foreign ? other : device.get())->newBuffer(sizeof(float), MTL::ResourceStorageModeShared));

  const BlurArgs args{static_cast<uint32_t>(line.size())};
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  encoder->setComputePipelineState(blur.get());
  encoder->setBuffer(x.get(), 0, 0);
  encoder->setBuffer(y.get(), 0, 1);
  encoder->setBytes(&args, sizeof(args), 2);
  encoder->dispatchThreadgroups(MTL::Size(4, 1, 1), MTL::Size(256, 1, 1));
  encoder->memoryBarrier(MTL::BarrierScopeBuffers);
  encoder->setComputePipelineState(total.get());
  encoder->setBuffer(y.get(), 0, 0);
  encoder->setBuffer(sum.get(), 0, 1);
  encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(256, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  if (commands->status() != MTL::CommandBufferStatusCompleted) return fail("the GPU failed", commands->error());
  std::printf("total %g on %s\n", static_cast<double>(*static_cast<float*>(sum->contents())),
              device->name()->utf8String());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  NS::AutoreleasePool* pool = NS::AutoreleasePool::alloc()->init();
  const int code = run(argc > 1 ? argv[1] : "");
  pool->release();
  return code;
}
