// Running a command buffer, on its queue's thread.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "command_buffer.h"

namespace softmetal::detail {
namespace {

using chiaro::gpu::soft::AccessMap;
using Code = MTL::CommandBufferError;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Code code_of(const std::optional<chiaro::gpu::soft::Fault>& kind, chiaro::ErrorCode error) {
  using chiaro::gpu::soft::Fault;
  if (error == chiaro::ErrorCode::out_of_memory) return MTL::CommandBufferErrorOutOfMemory;
  if (!kind) return MTL::CommandBufferErrorInternal;
  switch (*kind) {
    case Fault::time_limit: return MTL::CommandBufferErrorTimeout;
    case Fault::bounds:
    case Fault::misaligned: return MTL::CommandBufferErrorPageFault;
    case Fault::unbound: return MTL::CommandBufferErrorInvalidResource;
    default: return MTL::CommandBufferErrorInternal;
  }
}

// What a command reads and writes, for the checks that come after it.
struct Notes {
  explicit Notes(const Core& core) : wanted(core.checks.kernels && (core.checks.hazards || core.checks.cpu_writes)) {}
  AccessMap* add(const BufferBody& buffer, NS::UInteger offset, NS::UInteger bytes) {
    if (!wanted) return nullptr;
    maps.push_back(std::make_unique<AccessMap>(buffer.gpu + offset, static_cast<int64_t>(bytes)));
    touched.push_back(
        {maps.back().get(), buffer.node->serial, buffer.tracked(), object_text(buffer), static_cast<int64_t>(offset)});
    return maps.back().get();
  }
  void read(const BufferBody& buffer, NS::UInteger offset, NS::UInteger bytes) {
    if (AccessMap* map = add(buffer, offset, bytes)) map->read(0, static_cast<int64_t>(bytes));
  }
  void written(const BufferBody& buffer, NS::UInteger offset, NS::UInteger bytes) {
    if (AccessMap* map = add(buffer, offset, bytes)) map->written(0, static_cast<int64_t>(bytes));
  }
  std::vector<const AccessMap*> all_maps() const {
    std::vector<const AccessMap*> all;
    for (const auto& map : maps) all.push_back(map.get());
    return all;
  }
  bool wanted;
  std::vector<std::unique_ptr<AccessMap>> maps;
  std::vector<Touched> touched;
};

// Hazards, and what the CPU wrote meanwhile.
void check_after(Core& core, EncoderOrder& order, const Command& command, const Notes& notes) {
  DeviceBody& device = *core.device;
  const auto placed = device.hazards.command(order, command.text);
  if (!notes.wanted) return;
  if (core.checks.hazards) {
    for (const std::string& text : device.hazards.touch(order, placed, notes.touched)) {
      const std::string what = "two commands touch the same bytes, and nothing orders them";
      const std::string mend = "put a memoryBarrier, a fence or an event between them, or wait for the first";
      core.fail_with(MTL::CommandBufferErrorInternal, "hazard: " + what, text, mend);
      fault(FaultKind::hazard, "MTL::CommandBuffer", what, text, mend);
    }
  }
  if (core.checks.cpu_writes) {
    Snapshot* const snapshot = core.has_snapshot ? &core.snapshot : nullptr;
    for (const std::string& text : device.cpu_writes->after(snapshot, notes.all_maps())) {
      fault(FaultKind::in_flight, "MTL::CommandBuffer", "the CPU wrote into a buffer while a command buffer used it",
            text + ", which " + command.text + " reads; the command buffer was committed before",
            "write before commit, or after waitUntilCompleted");
    }
  }
}

// What was never written before counts so from now on.
void mark_written(const BufferBody& buffer, NS::UInteger offset, NS::UInteger bytes) {
  if (buffer.init) buffer.init->mark(static_cast<int64_t>(offset), static_cast<int64_t>(bytes), true);
}

// The bytes of the argument struct, and buffers by slot.
std::vector<chiaro::SoftBuffer> bind_arguments(const Command& command, const Core& core, chiaro::GpuDispatch& dispatch,
                                               std::vector<std::vector<std::byte>>& kept, Notes& notes) {
  std::vector<chiaro::SoftBuffer> buffers;
  for (const auto& slot : command.pipeline->kernel.checked->slots) {
    const Argument& argument = command.arguments[static_cast<size_t>(slot.slot)];
    const std::byte* base = argument.buffer == nullptr ? argument.bytes.data() : argument.buffer->gpu + argument.offset;
    if (slot.args) {
      dispatch.args.assign(base, base + slot.bytes);
      if (argument.buffer != nullptr) notes.read(*argument.buffer, argument.offset, slot.bytes);
      continue;
    }
    const auto at = static_cast<size_t>(slot.slot);
    if (buffers.size() <= at) buffers.resize(at + 1);
    chiaro::SoftBuffer& bound = buffers[at];
    if (argument.buffer == nullptr) {
      // Bytes stand where an aligned copy of them does.
      kept.emplace_back(argument.bytes.size() + 16);
      auto place = reinterpret_cast<uintptr_t>(kept.back().data());
      place = (place + 15) / 16 * 16;
      bound.base = reinterpret_cast<std::byte*>(place);
      bound.bytes = static_cast<int64_t>(argument.bytes.size());
      std::memcpy(bound.base, argument.bytes.data(), argument.bytes.size());
      continue;
    }
    const NS::UInteger bytes = argument.buffer->length - argument.offset;
    bound.base = argument.buffer->gpu + argument.offset;
    bound.bytes = static_cast<int64_t>(bytes);
    if (!core.checks.kernels) continue;
    bound.init = argument.buffer->init.get();
    bound.init_offset = static_cast<int64_t>(argument.offset);
    bound.access = notes.add(*argument.buffer, argument.offset, bytes);
  }
  return buffers;
}

bool run_dispatch(Core& core, EncoderOrder& order, const Command& command) {
  DeviceBody& device = *core.device;
  const std::lock_guard turn(device.running);
  chiaro::GpuDispatch dispatch;
  dispatch.kernel = command.pipeline->name;
  dispatch.constants = command.pipeline->constants;
  dispatch.threads = static_cast<uint32_t>(command.threads.width);
  dispatch.groups = {static_cast<uint32_t>(command.groups.width), static_cast<uint32_t>(command.groups.height),
                     static_cast<uint32_t>(command.groups.depth)};
  Notes notes(core);
  if (command.indirect != nullptr) {
    uint32_t groups[3];
    std::memcpy(groups, command.indirect->gpu + command.indirect_offset, sizeof(groups));
    dispatch.groups = {groups[0], groups[1], groups[2]};
    notes.read(*command.indirect, command.indirect_offset, sizeof(groups));
  }
  std::vector<std::vector<std::byte>> kept;
  const std::vector<chiaro::SoftBuffer> buffers = bind_arguments(command, core, dispatch, kept, notes);
  std::optional<chiaro::gpu::soft::Fault> kind;
  chiaro::SoftOptions options;
  options.checks = core.checks.kernels;
  options.real_seconds = device.options.real_watchdog_seconds;
  options.schedule = device.options.schedule;
  options.fault = &kind;
  const bool empty = command.indirect != nullptr && dispatch.groups.count() == 0;  // legal: nothing runs
  auto counts = empty ? chiaro::Result<chiaro::SoftCounts>(chiaro::SoftCounts{})
                      : device.gpu->run(command.pipeline->kernel, dispatch, buffers, options);
  if (!counts.ok()) {
    const chiaro::Error& error = counts.error();
    core.fail_with(code_of(kind, error.code), error.what,
                   error.where.empty() ? error.why : error.why + " (" + error.where + ")", error.mend);
    device.cpu_writes->failed(notes.all_maps());
    return false;
  }
  check_after(core, order, command, notes);
  std::function<void(const Launch&)> observer;
  {
    const std::lock_guard lock(device.settings);
    observer = device.observer;
  }
  if (observer) {
    observer({command.pipeline->name, command.pipeline->label,
              MTL::Size(dispatch.groups.x, dispatch.groups.y, dispatch.groups.z), command.threads,
              counts->predicted_seconds, counts->bytes_read, counts->bytes_written});
  }
  return true;
}

void run_blit(Core& core, EncoderOrder& order, const Command& command) {
  const std::lock_guard turn(core.device->running);
  Notes notes(core);
  const auto bytes = command.bytes;
  if (command.kind == Command::Kind::copy) {
    std::memcpy(command.to->gpu + command.to_offset, command.from->gpu + command.from_offset, bytes);
    // A copy of what was never written is no more written than that; save where the CPU sees it, and writes what the
    // copy did not bring.
    const bool seen = command.to->exposed && command.to->cpu == command.to->gpu;
    if (!seen && command.to->init && command.from->init) {
      auto* to = command.to->init->at(static_cast<int64_t>(command.to_offset));
      const auto* from = command.from->init->at(static_cast<int64_t>(command.from_offset));
      for (NS::UInteger i = 0; i < bytes; ++i) to[i].store(from[i].load());
    } else {
      mark_written(*command.to, command.to_offset, bytes);
    }
    notes.read(*command.from, command.from_offset, bytes);
    notes.written(*command.to, command.to_offset, bytes);
  } else if (command.kind == Command::Kind::fill) {
    std::memset(command.to->gpu + command.to_offset, command.value, bytes);
    mark_written(*command.to, command.to_offset, bytes);
    notes.written(*command.to, command.to_offset, bytes);
  } else {
    std::memcpy(command.from->cpu, command.from->gpu, bytes);
    notes.read(*command.from, 0, bytes);
  }
  check_after(core, order, command, notes);
}

bool run_encoder(Core& core, const EncoderWork& work, Clock& finished) {
  Hazards& hazards = core.device->hazards;
  const auto order = hazards.begin(core.order, work.serial, core.clock);
  for (const Command& command : work.commands) {
    switch (command.kind) {
      case Command::Kind::dispatch:
        if (!run_dispatch(core, *order, command)) return false;
        break;
      case Command::Kind::copy:
      case Command::Kind::fill:
      case Command::Kind::synchronise: run_blit(core, *order, command); break;
      case Command::Kind::barrier: hazards.barrier(*order); break;
      case Command::Kind::resource_barrier: hazards.barrier(*order, command.resources); break;
      case Command::Kind::update_fence: hazards.update(*order, command.fence->clocks); break;
      case Command::Kind::wait_fence: hazards.wait(*order, command.fence->clocks); break;
    }
  }
  hazards.finish(*order, finished);
  return true;
}

bool run_event(Core& core, const Item& item, const Clock& finished) {
  EventBody& event = *item.event;
  Hazards& hazards = core.device->hazards;
  std::unique_lock lock(event.mutex);
  if (item.signal) {
    Clock clock = event.clocks.empty() ? Clock{} : event.clocks.rbegin()->second;
    hazards.merge(clock, core.clock);
    hazards.merge(clock, finished);
    event.clocks[item.value] = std::move(clock);
    lock.unlock();
    event.signal(item.value);
    return true;
  }
  const double limit = core.device->options.real_watchdog_seconds;
  const bool reached =
      event.changed.wait_for(lock, std::chrono::duration<double>(limit), [&] { return event.value >= item.value; });
  if (!reached) {
    core.fail_with(MTL::CommandBufferErrorTimeout, "the wait for an event did not end",
                   object_text(event) + " has the value " + std::to_string(event.value) + " after " +
                       std::to_string(limit) + " s; " + std::to_string(item.value) + " is waited for",
                   "signal it from a command buffer that does not wait for this one");
    return false;
  }
  const auto clock = event.clocks.lower_bound(item.value);
  if (clock != event.clocks.end()) hazards.merge(core.clock, clock->second);
  const auto horizon = event.horizons.lower_bound(item.value);
  if (horizon != event.horizons.end()) core.order->horizon = std::max(core.order->horizon, horizon->second);
  return true;
}

bool fits_working_set(Core& core) {
  std::map<const void*, uint64_t> members;
  for (const AllocationBody* used : core.used) members[used->node] = used->bytes_allocated();
  for (const ResidencySetBody* set : core.residency) {
    const std::lock_guard lock(set->mutex);
    members.insert(set->committed.begin(), set->committed.end());
  }
  uint64_t bytes = 0;
  for (const auto& member : members) bytes += member.second;
  const uint64_t limit = core.device->options.working_set_bytes;
  if (bytes <= limit) return true;
  core.fail_with(MTL::CommandBufferErrorOutOfMemory, "the command buffer needs more than the working set",
                 std::to_string(bytes) + " bytes of buffers and residency sets; recommendedMaxWorkingSetSize is " +
                     std::to_string(limit),
                 "use fewer or smaller buffers in one command buffer");
  return false;
}

void run_items(Core& core) {
  if (core.device->lost) {
    core.fail_with(MTL::CommandBufferErrorDeviceRemoved, "the device is lost", "", "");
    return;
  }
  if (core.planned) {
    core.fail_with(*core.planned, "a failure was asked for", "", "");
    return;
  }
  if (!fits_working_set(core)) return;
  Clock finished;
  for (const Item& item : core.items) {
    const bool ok = item.work != nullptr ? run_encoder(core, *item.work, finished) : run_event(core, item, finished);
    if (!ok) return;
  }
}

void call_handlers(Core& core, const std::vector<MTL::HandlerFunction>& handlers) {
  if (handlers.empty()) return;
  const PoolScope pool;
  {
    const std::lock_guard lock(core.mutex);
    core.handler_thread = std::this_thread::get_id();
  }
  lend(core.node);
  for (const MTL::HandlerFunction& handler : handlers) handler(reinterpret_cast<MTL::CommandBuffer*>(core.node));
  unlend(core.node);
}

void set_status(Core& core, MTL::CommandBufferStatus status) {
  {
    const std::lock_guard lock(core.mutex);
    core.status = status;
  }
  core.changed.notify_all();
}

}  // namespace

void run_command_buffer(Core& core) {
  set_status(core, MTL::CommandBufferStatusScheduled);
  call_handlers(core, core.scheduled_handlers);
  const double start = now();
  run_items(core);
  {
    const std::lock_guard lock(core.mutex);
    core.start = start;
    core.end = now();
  }
  const bool failed = core.code != MTL::CommandBufferErrorNone;
  set_status(core, failed ? MTL::CommandBufferStatusError : MTL::CommandBufferStatusCompleted);
  if (!core.completed_handlers.empty()) observe(core);
  call_handlers(core, core.completed_handlers);
  // What the handlers hold may hold this command buffer.
  core.completed_handlers.clear();
  core.scheduled_handlers.clear();
}

void finish_command_buffer(Core& core) {
  // First this, so that whoever waits finds nothing held any more. It may end the objects of buffer and queue.
  Node* node = core.node;
  core.node = nullptr;
  drop(node);
  {
    const std::lock_guard lock(core.mutex);
    core.handlers_done = true;
  }
  core.changed.notify_all();
}

}  // namespace softmetal::detail
