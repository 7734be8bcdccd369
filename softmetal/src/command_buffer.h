// Command buffers as they are encoded and run.
//
// A core is what runs; the object of the API holds one, and so does its queue from commit on. Encoders append to the
// core's items; after commit only the queue's thread reads them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "bodies.h"
#include "cpu_writes.h"

namespace softmetal::detail {

inline constexpr size_t kArgumentSlots = 31;
inline constexpr size_t kMostBytes = 4096;  // of setBytes

// What is bound to a slot.
struct Argument {
  BufferBody* buffer = nullptr;
  NS::UInteger offset = 0;
  std::vector<std::byte> bytes;  // of setBytes
  bool bound = false;            // also to nil
};

struct Command {
  enum class Kind : uint8_t { dispatch, copy, fill, synchronise, barrier, resource_barrier, update_fence, wait_fence };
  Kind kind = Kind::barrier;
  std::string text;  // "add (encoder \"x\")"
  // dispatch
  std::shared_ptr<const PipelineData> pipeline;
  std::vector<Argument> arguments;  // by slot
  MTL::Size groups{1, 1, 1}, threads{32, 1, 1};
  BufferBody* indirect = nullptr;  // where the number of threadgroups stands
  NS::UInteger indirect_offset = 0;
  // copy and fill
  BufferBody* from = nullptr;
  BufferBody* to = nullptr;
  NS::UInteger from_offset = 0, to_offset = 0, bytes = 0;
  uint8_t value = 0;
  // barriers and fences
  std::vector<uint64_t> resources;
  FenceBody* fence = nullptr;
};

struct EncoderWork {
  bool serial = true;
  std::string label;
  std::vector<Command> commands;
};

struct EventBody;
struct Item {
  std::unique_ptr<EncoderWork> work;  // null: an event
  EventBody* event = nullptr;
  uint64_t value = 0;
  bool signal = false;
};

struct QueueState;

struct Core {
  ~Core();

  DeviceBody* device = nullptr;
  std::shared_ptr<QueueState> queue;
  Node* node = nullptr;  // of the object, as long as it is in flight
  std::string label;
  std::vector<Item> items;
  std::vector<Node*> held;            // uses, each dropped once
  std::vector<AllocationBody*> used;  // what is counted against the working set
  std::set<const void*> held_set;
  std::vector<ResidencySetBody*> residency;  // uses of these are among `held`
  bool retained = true;
  std::vector<MTL::HandlerFunction> scheduled_handlers, completed_handlers;
  Checks checks;
  std::shared_ptr<BufferOrder> order = std::make_shared<BufferOrder>();
  Clock clock;  // what events carried over
  Snapshot snapshot;
  bool has_snapshot = false;
  std::shared_ptr<CpuWrites> cpu_writes;           // the device's, where there is a snapshot
  std::optional<MTL::CommandBufferError> planned;  // an error that was asked for

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  MTL::CommandBufferStatus status = MTL::CommandBufferStatusNotEnqueued;
  bool handlers_done = false;
  std::thread::id handler_thread;  // while handlers run
  // Whether the program knows that it is complete. While one thread sees to what follows from that, others wait.
  enum class Observed : uint8_t { no, now, yes } observed = Observed::no;
  std::thread::id observer;  // where it is `now`
  bool error_read = false;   // it asked how it ended
  MTL::CommandBufferError code = MTL::CommandBufferErrorNone;
  std::string what, why, mend;
  double start = 0, end = 0;  // seconds

  bool done() const { return status >= MTL::CommandBufferStatusCompleted; }
  // The first error stays.
  void fail_with(MTL::CommandBufferError its_code, std::string its_what, std::string its_why, std::string its_mend);
  // Keeps an object alive until the end. Counts a buffer or pipeline once.
  void use(Body& body);
  void let_go();
};

// The program has learnt that the command buffer is complete: without the core's lock.
void observe(Core& core);

// The thread of a queue outlives the queue's object until its work is done.
struct QueueState {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Core>> order;  // enqueued or committed
  bool stop = false;
  uint64_t id = 0;
  NS::UInteger outstanding = 0, most = 64;  // command buffers that are neither done nor released
  std::vector<std::weak_ptr<Core>> unobserved;
  void work();
};

struct QueueBody final : DeviceObject {
  static constexpr const char* kType = "MTL::CommandQueue";
  QueueBody(DeviceBody& its_device, NS::UInteger most);
  ~QueueBody() override;
  const char* type() const override { return kType; }
  void start_thread();
  std::shared_ptr<QueueState> state = std::make_shared<QueueState>();
  std::mutex mutex;  // guards what follows
  std::thread thread;
  std::vector<Owned> residency;
};

struct EncoderBody;

struct CommandBufferBody final : DeviceObject {
  static constexpr const char* kType = "MTL::CommandBuffer";
  explicit CommandBufferBody(QueueBody& its_queue);
  ~CommandBufferBody() override;
  const char* type() const override { return kType; }
  Owned queue_ref;
  QueueBody* queue;
  std::shared_ptr<Core> core = std::make_shared<Core>();
  EncoderBody* open = nullptr;  // the encoder that has not ended
  bool committed = false, enqueued = false;
};

struct EncoderBody final : DeviceObject {
  static constexpr const char* kType = "MTL::CommandEncoder";
  EncoderBody(CommandBufferBody& its_buffer, bool is_compute, MTL::DispatchType dispatch);
  ~EncoderBody() override;
  const char* type() const override { return compute ? "MTL::ComputeCommandEncoder" : "MTL::BlitCommandEncoder"; }
  Owned buffer_ref;
  CommandBufferBody* buffer;
  bool compute;
  MTL::DispatchType dispatch_type;
  bool ended = false;
  EncoderWork* work;
  std::shared_ptr<const PipelineData> pipeline;
  Argument arguments[kArgumentSlots];
  NS::UInteger group_memory[kArgumentSlots] = {};
  int debug_groups = 0;
};

struct EventBody final : DeviceObject {
  static constexpr const char* kType = "MTL::Event";
  EventBody(DeviceBody& its_device, bool is_shared) : DeviceObject(its_device), shared(is_shared) {}
  const char* type() const override { return shared ? "MTL::SharedEvent" : kType; }
  bool shared;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  uint64_t value = 0;
  std::map<uint64_t, Clock> clocks;                 // what each signal carries, those before it included
  std::map<uint64_t, uint64_t> horizons;            // of signals by the CPU: what the program knew
  std::map<uint64_t, std::weak_ptr<Core>> last_of;  // command buffers whose last item signals that value
  struct Listener {
    uint64_t value;
    MTL::SharedEventNotificationFunction function;
  };
  std::vector<Listener> listeners;
  // Raises the value and calls who waits for it.
  void signal(uint64_t to);
};

// Runs a committed command buffer to its end, handlers included; then lets go of it and of who waits for it. From the
// queue's thread.
void run_command_buffer(Core& core);
void finish_command_buffer(Core& core);
// The number of things that the program knows to be complete.
uint64_t observation_now();

}  // namespace softmetal::detail
