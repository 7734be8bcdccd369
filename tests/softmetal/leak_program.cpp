// A process of its own for what happens at its end: leak_program clean|leak|pool|misuse.
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
  pool->release();
  if (std::strcmp(mode, "pool") == 0) buffer->label();
  return 0;
}
