// A process of its own for what happens at its end: leak_program clean|flight|leak|pool|misuse.
#include <Metal/Metal.hpp>
#include <cstring>

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  auto* pool = NS::AutoreleasePool::alloc()->init();
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  auto buffer = NS::TransferPtr(device->newBuffer(64, MTL::ResourceStorageModePrivate));
  buffer->setLabel(MTLSTR("lost weights"));
  if (std::strcmp(mode, "misuse") == 0) buffer->contents();
  if (std::strcmp(mode, "leak") == 0) buffer->retain();
  if (std::strcmp(mode, "flight") == 0) {
    // Nobody waits: at the end of the process the queue's thread may still have it all.
    auto queue = NS::TransferPtr(device->newCommandQueue());
    auto target = NS::TransferPtr(device->newBuffer(32 << 20, MTL::ResourceStorageModeShared));
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->blitCommandEncoder();
    encoder->fillBuffer(target.get(), NS::Range(0, 32 << 20), 1);
    encoder->endEncoding();
    commands->commit();
  }
  pool->release();
  if (std::strcmp(mode, "pool") == 0) buffer->label();
  return 0;
}
