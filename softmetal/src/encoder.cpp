// Compute and blit encoders: everything is checked when it is encoded, as far as it can be known then.
#include <algorithm>
#include <cstring>

#include "command_buffer.h"

namespace softmetal::detail {
namespace {

// The encoder, where it may still be encoded into; else a fault.
EncoderBody* open_encoder(const void* object, const char* call) {
  auto* body = body_of<EncoderBody>(object, call);
  if (body == nullptr) return nullptr;
  if (!body->ended) return body;
  fault(FaultKind::encoder_state, call, "encoded after endEncoding", object_text(*body),
        "take a new encoder from the command buffer");
  return nullptr;
}

bool check_index(NS::UInteger index, const char* call) {
  if (index < kArgumentSlots) return true;
  fault(FaultKind::bad_range, call, "there is no such slot", "index " + std::to_string(index) + "; slots are 0 to 30");
  return false;
}

bool check_offset(const BufferBody& buffer, NS::UInteger offset, const char* call) {
  if (offset < buffer.length) return true;
  fault(FaultKind::bad_range, call, "an offset past the end of the buffer",
        "offset " + std::to_string(offset) + " in " + object_text(buffer) + " of " + std::to_string(buffer.length) +
            " bytes");
  return false;
}

// A buffer of the encoder's device with these bytes in it; else a fault and null.
BufferBody* checked_range(const EncoderBody& encoder, const void* buffer, NS::UInteger offset, NS::UInteger bytes,
                          const char* call, const char* role) {
  auto* body = body_of<BufferBody>(buffer, call, role);
  if (body == nullptr || !same_device(*body, *encoder.device, call, role)) return nullptr;
  if (offset <= body->length && bytes <= body->length - offset) return body;
  fault(FaultKind::bad_range, call, std::string(role) + " ends before the range does",
        "bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) + " of " + object_text(*body) +
            ", which has " + std::to_string(body->length));
  return nullptr;
}

// Slot by slot: whether the kernel's arguments are all there.
bool check_arguments(const EncoderBody& encoder, const char* call) {
  const PipelineData& pipeline = *encoder.pipeline;
  for (const auto& slot : pipeline.kernel.checked->slots) {
    const Argument& argument = encoder.arguments[slot.slot];
    const std::string where = "slot " + std::to_string(slot.slot) + " of kernel '" + pipeline.name + "'";
    if (!argument.bound) {
      fault(FaultKind::missing_binding, call, "nothing is bound to an argument of the kernel", where,
            "bind something there, also where this variant does not use it");
      return false;
    }
    if (argument.buffer == nullptr && argument.bytes.empty()) {
      fault(FaultKind::missing_binding, call, "nil is bound to an argument of the kernel", where,
            "bind a buffer there, also where this variant does not use it");
      return false;
    }
    const NS::UInteger there =
        argument.buffer == nullptr ? argument.bytes.size() : argument.buffer->length - argument.offset;
    if (there < slot.bytes) {
      fault(
          FaultKind::bad_range, call, "too few bytes are bound to an argument of the kernel",
          where + " takes at least " + std::to_string(slot.bytes) + " bytes; " + std::to_string(there) + " are bound");
      return false;
    }
    if (argument.buffer != nullptr && argument.offset % slot.align != 0) {
      fault(FaultKind::bad_range, call, "an offset that is not aligned to the kernel's argument",
            where + " is aligned to " + std::to_string(slot.align) + " bytes; the offset is " +
                std::to_string(argument.offset));
      return false;
    }
    if (argument.buffer == nullptr && slot.writable) {
      fault(FaultKind::missing_binding, call, "bytes are bound to an argument that the kernel writes", where,
            "bind a buffer");
      return false;
    }
  }
  return true;
}

bool check_threads(const EncoderBody& encoder, const MTL::Size& threads, const char* call) {
  const PipelineData& pipeline = *encoder.pipeline;
  const NS::UInteger width = threads.width, height = threads.height, depth = threads.depth;
  const std::string shape = "threadgroups of " + std::to_string(width) + " x " + std::to_string(height) + " x " +
                            std::to_string(depth) + " threads";
  if (width == 0 || height == 0 || depth == 0 || width > 1u << 20 || height > 1u << 20 || depth > 1u << 20 ||
      width * height * depth > pipeline.most_threads) {
    fault(FaultKind::launch_limits, call, "more threads than the pipeline takes, or none",
          shape + "; maxTotalThreadsPerThreadgroup is " + std::to_string(pipeline.most_threads));
    return false;
  }
  if (height != 1 || depth != 1 || width % 32 != 0) {
    fault(FaultKind::unsupported, call, "threadgroups that kernels of the dialect do not take",
          shape + "; they are one-dimensional, a multiple of 32");
    return false;
  }
  const auto limit = static_cast<NS::UInteger>(encoder.device->profile.traits.threadgroup_bytes);
  NS::UInteger memory = pipeline.kernel.checked->facts.group_bytes;
  for (const NS::UInteger bytes : encoder.group_memory) memory += bytes;
  if (memory <= limit) return true;
  fault(
      FaultKind::launch_limits, call, "more threadgroup memory than the device has",
      std::to_string(memory) + " bytes with the kernel's own; maxThreadgroupMemoryLength is " + std::to_string(limit));
  return false;
}

bool check_groups(const MTL::Size& groups, const char* call) {
  const NS::UInteger width = groups.width, height = groups.height, depth = groups.depth;
  if (width > 0 && height > 0 && depth > 0 && width <= 0x7FFFFFFF && height <= 65535 && depth <= 65535) return true;
  fault(FaultKind::launch_limits, call, "a grid that is empty or too large",
        std::to_string(width) + " x " + std::to_string(height) + " x " + std::to_string(depth) +
            " threadgroups; 2147483647 x 65535 x 65535 are possible");
  return false;
}

// The dispatch with all that it takes from the encoder; null, and a fault, where something is wrong.
Command* encode_dispatch(EncoderBody* encoder, MTL::Size groups, MTL::Size threads, const char* call) {
  if (encoder == nullptr) return nullptr;
  if (encoder->pipeline == nullptr) {
    fault(FaultKind::encoder_state, call, "a dispatch without a pipeline", object_text(*encoder),
          "call setComputePipelineState first");
    return nullptr;
  }
  if (!check_threads(*encoder, threads, call) || !check_groups(groups, call) || !check_arguments(*encoder, call)) {
    return nullptr;
  }
  Command command;
  command.kind = Command::Kind::dispatch;
  command.pipeline = encoder->pipeline;
  command.groups = groups;
  command.threads = threads;
  command.text = "kernel '" + encoder->pipeline->name + "'";
  if (!encoder->pipeline->label.empty()) command.text += " (" + encoder->pipeline->label + ")";
  if (!encoder->label.empty()) command.text += " of encoder \"" + encoder->label + "\"";
  for (const auto& slot : encoder->pipeline->kernel.checked->slots) {
    const auto at = static_cast<size_t>(slot.slot);
    if (command.arguments.size() <= at) command.arguments.resize(at + 1);
    command.arguments[at] = encoder->arguments[at];
    if (command.arguments[at].buffer != nullptr) encoder->buffer->core->use(*command.arguments[at].buffer);
  }
  encoder->work->commands.push_back(std::move(command));
  return &encoder->work->commands.back();
}

void encode_fence(const void* object, const MTL::Fence* fence, bool update, const char* call) {
  auto* encoder = open_encoder(object, call);
  auto* body = encoder == nullptr ? nullptr : body_of<FenceBody>(fence, call, "the fence");
  if (body == nullptr || !same_device(*body, *encoder->device, call, "the fence")) return;
  Command command;
  command.kind = update ? Command::Kind::update_fence : Command::Kind::wait_fence;
  command.fence = body;
  encoder->buffer->core->use(*body);
  encoder->work->commands.push_back(std::move(command));
}

void bind_buffer(EncoderBody& encoder, const MTL::Buffer* buffer, NS::UInteger offset, NS::UInteger index,
                 const char* call) {
  if (!check_index(index, call)) return;
  Argument argument;
  argument.bound = true;
  if (buffer != nullptr) {
    argument.buffer = body_of<BufferBody>(buffer, call, "the buffer");
    if (argument.buffer == nullptr || !same_device(*argument.buffer, *encoder.device, call, "the buffer") ||
        !check_offset(*argument.buffer, offset, call)) {
      return;
    }
    argument.offset = offset;
    encoder.buffer->core->use(*argument.buffer);
  }
  encoder.arguments[index] = std::move(argument);
}

std::string blit_text(const EncoderBody& encoder, const char* what) {
  return encoder.label.empty() ? std::string(what) : std::string(what) + " of encoder \"" + encoder.label + "\"";
}

}  // namespace

EncoderBody::EncoderBody(CommandBufferBody& its_buffer, bool is_compute, MTL::DispatchType dispatch)
    : DeviceObject(*its_buffer.device),
      buffer_ref(its_buffer.node),
      buffer(&its_buffer),
      compute(is_compute),
      dispatch_type(dispatch) {
  Item item;
  item.work = std::make_unique<EncoderWork>();
  item.work->serial = dispatch == MTL::DispatchTypeSerial;
  work = item.work.get();
  its_buffer.core->items.push_back(std::move(item));
  its_buffer.open = this;
}

EncoderBody::~EncoderBody() {
  if (ended) return;
  buffer->open = nullptr;
  fault(FaultKind::encoder_state, "release", "an encoder is released without endEncoding", object_text(*this),
        "call endEncoding before its autorelease pool is drained");
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::FaultKind;

// All encoders --------------------------------------------------------------------------------------------------------

Device* CommandEncoder::device() const {
  const auto* body = body_of<EncoderBody>(this, "MTL::CommandEncoder::device");
  return body == nullptr ? nullptr : body->device_handle();
}
void CommandEncoder::endEncoding() {
  auto* body = open_encoder(this, "MTL::CommandEncoder::endEncoding");
  if (body == nullptr) return;
  body->ended = true;
  body->buffer->open = nullptr;
}
void CommandEncoder::insertDebugSignpost(const NS::String*) {
  (void)open_encoder(this, "MTL::CommandEncoder::insertDebugSignpost");
}
NS::String* CommandEncoder::label() const {
  const auto* body = body_of<EncoderBody>(this, "MTL::CommandEncoder::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void CommandEncoder::popDebugGroup() {
  const char* call = "MTL::CommandEncoder::popDebugGroup";
  auto* body = open_encoder(this, call);
  if (body == nullptr) return;
  if (--body->debug_groups >= 0) return;
  body->debug_groups = 0;
  fault(FaultKind::encoder_state, call, "no debug group is open");
}
void CommandEncoder::pushDebugGroup(const NS::String*) {
  auto* body = open_encoder(this, "MTL::CommandEncoder::pushDebugGroup");
  if (body != nullptr) ++body->debug_groups;
}
void CommandEncoder::setLabel(const NS::String* label) {
  auto* body = body_of<EncoderBody>(this, "MTL::CommandEncoder::setLabel");
  if (body == nullptr) return;
  body->label = string_text(label, "MTL::CommandEncoder::setLabel");
  if (!body->ended) body->work->label = body->label;
}

// Compute -------------------------------------------------------------------------------------------------------------

DispatchType ComputeCommandEncoder::dispatchType() const {
  const auto* body = body_of<EncoderBody>(this, "MTL::ComputeCommandEncoder::dispatchType");
  return body == nullptr ? DispatchTypeSerial : body->dispatch_type;
}

void ComputeCommandEncoder::dispatchThreadgroups(MTL::Size threadgroupsPerGrid, MTL::Size threadsPerThreadgroup) {
  const char* call = "MTL::ComputeCommandEncoder::dispatchThreadgroups";
  encode_dispatch(open_encoder(this, call), threadgroupsPerGrid, threadsPerThreadgroup, call);
}

void ComputeCommandEncoder::dispatchThreadgroups(const MTL::Buffer* indirectBuffer, NS::UInteger indirectBufferOffset,
                                                 MTL::Size threadsPerThreadgroup) {
  const char* call = "MTL::ComputeCommandEncoder::dispatchThreadgroups(indirect)";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr) return;
  auto* indirect = checked_range(*encoder, indirectBuffer, indirectBufferOffset, 12, call, "the indirect buffer");
  if (indirect == nullptr) return;
  if (indirectBufferOffset % 4 != 0) {
    fault(FaultKind::bad_range, call, "the offset of the indirect arguments is no multiple of 4");
    return;
  }
  Command* command = encode_dispatch(encoder, Size(1, 1, 1), threadsPerThreadgroup, call);
  if (command == nullptr) return;
  command->indirect = indirect;
  command->indirect_offset = indirectBufferOffset;
  encoder->buffer->core->use(*indirect);
}

void ComputeCommandEncoder::dispatchThreads(MTL::Size threadsPerGrid, MTL::Size threadsPerThreadgroup) {
  const char* call = "MTL::ComputeCommandEncoder::dispatchThreads";
  auto* encoder = open_encoder(this, call);
  const NS::UInteger grid[3] = {threadsPerGrid.width, threadsPerGrid.height, threadsPerGrid.depth};
  const NS::UInteger group[3] = {threadsPerThreadgroup.width, threadsPerThreadgroup.height,
                                 threadsPerThreadgroup.depth};
  NS::UInteger groups[3] = {};
  for (int i = 0; i < 3; ++i) {
    groups[i] = group[i] == 0 ? 0 : grid[i] / group[i];
    if (group[i] == 0 || grid[i] % group[i] == 0) continue;
    fault(FaultKind::unsupported, call, "a grid that ends in the middle of a threadgroup",
          std::to_string(grid[i]) + " threads in threadgroups of " + std::to_string(group[i]),
          "round the grid up, and let the kernel check its index");
    return;
  }
  encode_dispatch(encoder, Size(groups[0], groups[1], groups[2]), threadsPerThreadgroup, call);
}

void ComputeCommandEncoder::memoryBarrier(MTL::BarrierScope scope) {
  const char* call = "MTL::ComputeCommandEncoder::memoryBarrier";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr) return;
  if ((scope & BarrierScopeBuffers) == 0) {
    fault(FaultKind::bad_range, call, "a barrier that does not order buffers", "scope " + std::to_string(scope),
          "use MTL::BarrierScopeBuffers");
    return;
  }
  encoder->work->commands.emplace_back();
}

void ComputeCommandEncoder::memoryBarrier(const MTL::Resource* const resources[], NS::UInteger count) {
  const char* call = "MTL::ComputeCommandEncoder::memoryBarrier";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr) return;
  Command command;
  command.kind = Command::Kind::resource_barrier;
  for (NS::UInteger i = 0; i < count; ++i) {
    const auto* body = body_of<BufferBody>(resources[i], call, "a resource");
    if (body == nullptr || !same_device(*body, *encoder->device, call, "a resource")) return;
    command.resources.push_back(body->node->serial);
  }
  encoder->work->commands.push_back(std::move(command));
}

void ComputeCommandEncoder::setBuffer(const MTL::Buffer* buffer, NS::UInteger offset, NS::UInteger index) {
  const char* call = "MTL::ComputeCommandEncoder::setBuffer";
  auto* encoder = open_encoder(this, call);
  if (encoder != nullptr) bind_buffer(*encoder, buffer, offset, index, call);
}

void ComputeCommandEncoder::setBufferOffset(NS::UInteger offset, NS::UInteger index) {
  const char* call = "MTL::ComputeCommandEncoder::setBufferOffset";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr || !check_index(index, call)) return;
  Argument& argument = encoder->arguments[index];
  if (argument.buffer == nullptr) {
    fault(FaultKind::missing_binding, call, "no buffer is bound there", "slot " + std::to_string(index),
          "call setBuffer first");
    return;
  }
  if (check_offset(*argument.buffer, offset, call)) argument.offset = offset;
}

void ComputeCommandEncoder::setBuffers(const MTL::Buffer* const buffers[], const NS::UInteger offsets[],
                                       NS::Range range) {
  const char* call = "MTL::ComputeCommandEncoder::setBuffers";
  auto* encoder = open_encoder(this, call);
  for (NS::UInteger i = 0; encoder != nullptr && i < range.length; ++i) {
    bind_buffer(*encoder, buffers[i], offsets[i], range.location + i, call);
  }
}

void ComputeCommandEncoder::setBytes(const void* bytes, NS::UInteger length, NS::UInteger index) {
  const char* call = "MTL::ComputeCommandEncoder::setBytes";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr || !check_index(index, call)) return;
  if (bytes == nullptr) {
    fault(FaultKind::nil_object, call, "the bytes are nil");
    return;
  }
  if (length == 0 || length > kMostBytes) {
    fault(FaultKind::bad_range, call, "setBytes takes 1 to 4096 bytes", std::to_string(length) + " are given",
          "put more into a buffer");
    return;
  }
  Argument argument;
  argument.bound = true;
  argument.bytes.resize(length);
  std::memcpy(argument.bytes.data(), bytes, length);
  encoder->arguments[index] = std::move(argument);
}

void ComputeCommandEncoder::setComputePipelineState(const MTL::ComputePipelineState* state) {
  const char* call = "MTL::ComputeCommandEncoder::setComputePipelineState";
  auto* encoder = open_encoder(this, call);
  auto* body = encoder == nullptr ? nullptr : body_of<PipelineBody>(state, call, "the pipeline");
  if (body == nullptr || !same_device(*body, *encoder->device, call, "the pipeline")) return;
  encoder->pipeline = body->data;
  encoder->buffer->core->use(*body);
}

void ComputeCommandEncoder::setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) {
  const char* call = "MTL::ComputeCommandEncoder::setThreadgroupMemoryLength";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr || !check_index(index, call)) return;
  const auto limit = static_cast<NS::UInteger>(encoder->device->profile.traits.threadgroup_bytes);
  if (length % 16 != 0 || length > limit) {
    fault(FaultKind::launch_limits, call, "a length that threadgroup memory does not take",
          std::to_string(length) + " bytes; a multiple of 16 up to " + std::to_string(limit) + " is possible");
    return;
  }
  encoder->group_memory[index] = length;
}

void ComputeCommandEncoder::updateFence(const MTL::Fence* fence) {
  encode_fence(this, fence, true, "MTL::ComputeCommandEncoder::updateFence");
}
void ComputeCommandEncoder::waitForFence(const MTL::Fence* fence) {
  encode_fence(this, fence, false, "MTL::ComputeCommandEncoder::waitForFence");
}
void ComputeCommandEncoder::useResource(const MTL::Resource* resource, MTL::ResourceUsage) {
  const char* call = "MTL::ComputeCommandEncoder::useResource";
  auto* encoder = open_encoder(this, call);
  auto* body = encoder == nullptr ? nullptr : body_of<BufferBody>(resource, call, "the resource");
  if (body == nullptr || !same_device(*body, *encoder->device, call, "the resource")) return;
  encoder->buffer->core->use(*body);
}
void ComputeCommandEncoder::useResources(const MTL::Resource* const resources[], NS::UInteger count,
                                         MTL::ResourceUsage usage) {
  for (NS::UInteger i = 0; i < count; ++i) useResource(resources[i], usage);
}

// Blit ----------------------------------------------------------------------------------------------------------------

void BlitCommandEncoder::copyFromBuffer(const MTL::Buffer* sourceBuffer, NS::UInteger sourceOffset,
                                        const MTL::Buffer* destinationBuffer, NS::UInteger destinationOffset,
                                        NS::UInteger size) {
  const char* call = "MTL::BlitCommandEncoder::copyFromBuffer";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr) return;
  Command command;
  command.kind = Command::Kind::copy;
  command.from = checked_range(*encoder, sourceBuffer, sourceOffset, size, call, "the source");
  if (command.from == nullptr) return;
  command.to = checked_range(*encoder, destinationBuffer, destinationOffset, size, call, "the destination");
  if (command.to == nullptr) return;
  if (sourceOffset % 4 != 0 || destinationOffset % 4 != 0 || size % 4 != 0 || size == 0) {
    fault(FaultKind::bad_range, call, "offsets and sizes of copies are multiples of 4, and no size is 0",
          std::to_string(size) + " bytes from " + std::to_string(sourceOffset) + " to " +
              std::to_string(destinationOffset));
    return;
  }
  if (command.from == command.to && sourceOffset < destinationOffset + size &&
      destinationOffset < sourceOffset + size) {
    fault(FaultKind::bad_range, call, "a copy within a buffer whose ranges overlap", object_text(*command.from));
    return;
  }
  command.from_offset = sourceOffset;
  command.to_offset = destinationOffset;
  command.bytes = size;
  command.text = blit_text(*encoder, "a copy");
  encoder->buffer->core->use(*command.from);
  encoder->buffer->core->use(*command.to);
  encoder->work->commands.push_back(std::move(command));
}

void BlitCommandEncoder::fillBuffer(const MTL::Buffer* buffer, NS::Range range, uint8_t value) {
  const char* call = "MTL::BlitCommandEncoder::fillBuffer";
  auto* encoder = open_encoder(this, call);
  if (encoder == nullptr) return;
  Command command;
  command.kind = Command::Kind::fill;
  command.to = checked_range(*encoder, buffer, range.location, range.length, call, "the buffer");
  if (command.to == nullptr) return;
  if (range.location % 4 != 0 || range.length % 4 != 0 || range.length == 0) {
    fault(FaultKind::bad_range, call, "a range to fill is a multiple of 4 from a multiple of 4, and not empty",
          std::to_string(range.length) + " bytes at " + std::to_string(range.location));
    return;
  }
  command.to_offset = range.location;
  command.bytes = range.length;
  command.value = value;
  command.text = blit_text(*encoder, "a fill");
  encoder->buffer->core->use(*command.to);
  encoder->work->commands.push_back(std::move(command));
}

void BlitCommandEncoder::synchronizeResource(const MTL::Resource* resource) {
  const char* call = "MTL::BlitCommandEncoder::synchronizeResource";
  auto* encoder = open_encoder(this, call);
  auto* body = encoder == nullptr ? nullptr : body_of<BufferBody>(resource, call, "the resource");
  if (body == nullptr || !same_device(*body, *encoder->device, call, "the resource")) return;
  if (body->storage() != StorageModeManaged) {
    fault(FaultKind::storage_mode, call, "the buffer is not managed", object_text(*body));
    return;
  }
  Command command;
  command.kind = Command::Kind::synchronise;
  command.from = body;
  command.bytes = body->length;
  command.text = blit_text(*encoder, "a synchronisation");
  encoder->buffer->core->use(*body);
  encoder->work->commands.push_back(std::move(command));
}

void BlitCommandEncoder::updateFence(const MTL::Fence* fence) {
  encode_fence(this, fence, true, "MTL::BlitCommandEncoder::updateFence");
}
void BlitCommandEncoder::waitForFence(const MTL::Fence* fence) {
  encode_fence(this, fence, false, "MTL::BlitCommandEncoder::waitForFence");
}

}  // namespace MTL
