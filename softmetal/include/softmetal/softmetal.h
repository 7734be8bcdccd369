// What a program on Linux may ask of softmetal beside Metal's own API: which devices there are, what is checked, who
// hears of faults, and which calls are to fail. Code that also compiles on a Mac keeps this behind #if SOFTMETAL.
//
// Thread rule: any thread. Environment variables are read once, at the first use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "Metal/Metal.hpp"

namespace chiaro {
class ThreadPool;
}

namespace softmetal {

// Devices -------------------------------------------------------------------------------------------------------------

// What is checked beside the rules of the API, which always are. Each costs time.
struct Checks {
  // Inside kernels: bounds, races, reads before writes, divergent barriers. Off: plain pointers, several times as fast;
  // `hazards` and `cpu_writes` need it.
  bool kernels = true;
  // Two commands that nothing orders touch the same byte, one of them writing. From the bytes that kernels really read
  // and wrote, not from what is bound.
  bool hazards = true;
  // The CPU writes bytes that a committed command buffer reads or writes before the program has waited for it. Costs a
  // copy of every shared buffer that is bound.
  bool cpu_writes = true;
};

struct DeviceOptions {
  std::string profile;  // apple5-vm, apple7, apple8, apple9; empty: SOFTMETAL_PROFILE, or apple7
  Checks checks = {};   // SOFTMETAL_CHECKS=off, or kernels,hazards,cpu_writes in part
  int threads = 0;      // that run threadgroups; 0: SOFTMETAL_THREADS, or one per core
  // Simdgroup operations that the profile does not advertise run all the same, as on hosted runners.
  bool unadvertised = false;           // SOFTMETAL_UNADVERTISED=1
  uint64_t memory_bytes = 0;           // newBuffer is refused beyond; 0: no limit
  uint64_t working_set_bytes = 0;      // recommendedMaxWorkingSetSize; 0: the profile's
  uint64_t max_buffer_bytes = 0;       // maxBufferLength; 0: the profile's
  bool unified_memory = true;          // what hasUnifiedMemory answers
  double watchdog_seconds = 0;         // of a launch on the profile's GPU, predicted; 0: the profile's
  double real_watchdog_seconds = 0;    // of a launch, or a wait for an event, on this host; 0: SOFTMETAL_TIMEOUT, or 60
  uint32_t schedule = 0;               // another order in which threads run
  chiaro::ThreadPool* pool = nullptr;  // instead of threads of its own; outlives the device
};

// A device of its own; the caller has a count. Nil where the profile does not exist (a fault) or failure was asked for.
MTL::Device* create_device(const DeviceOptions& options);
MTL::Device* create_device(std::string_view profile);
// What MTL::CopyAllDevices lists and, first of them, MTL::CreateSystemDefaultDevice returns: the same object as long as
// anyone holds it. SOFTMETAL_DEVICES=apple7,apple5-vm does the same; none: there is no GPU.
void set_devices(std::vector<DeviceOptions> devices);
std::vector<std::string> profile_names();
// Changes what is checked of command buffers that are committed from now on.
void set_checks(MTL::Device* device, const Checks& checks);

// Faults --------------------------------------------------------------------------------------------------------------

enum class FaultKind : uint8_t {
  nil_object,         // a message to nil, or nil where an object must be
  use_after_release,  // an object that was released
  over_release,       // released more often than retained
  wrong_class,        // not an object of softmetal, or one of another class
  foreign_device,     // an object of another device
  storage_mode,       // contents() of private memory, no-copy memory off its page, didModifyRange of shared memory
  bad_range,          // an offset, length, index or alignment out of its limits
  missing_binding,    // a kernel's argument that nothing was bound to
  encoder_state,      // encoded after endEncoding, two encoders open, no pipeline, an encoder left open
  command_buffer,     // committed twice, encoded after commit, waited for before commit
  launch_limits,      // threads, threadgroup memory, grid
  unsupported,        // legal Metal that the software GPU does not run
  in_flight,          // released or written by the CPU while a committed command buffer uses it
  hazard,             // two commands without order between them touch the same bytes
  unread_error,       // a command buffer failed and nobody asked
  leak,               // alive when the process ended
};
std::string_view fault_name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::nil_object;
  std::string what;  // "MTL::ComputeCommandEncoder::setBuffer: a buffer of another device"
  std::string why;   // the values
  std::string mend;
  std::string text() const;  // all of it, in lines
};

// Called for every fault, from the thread that made it (hazards and kernels: the queue's thread). The call that was
// wrong does nothing and returns zero. Without a handler the text is printed and the process aborts. Returns the
// handler before. Null: the default again.
using FaultHandler = std::function<void(const Fault&)>;
FaultHandler set_fault_handler(FaultHandler handler);

// Collects faults as long as it lives, instead of the handler before it.
class FaultCollector {
 public:
  FaultCollector();
  ~FaultCollector();
  FaultCollector(const FaultCollector&) = delete;
  FaultCollector& operator=(const FaultCollector&) = delete;
  std::vector<Fault> faults() const;
  // Takes them out.
  std::vector<Fault> take();
  // How many of a kind.
  int count(FaultKind kind) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  FaultHandler before_;
};

// Leaks ---------------------------------------------------------------------------------------------------------------

struct LiveObject {
  std::string type, label;
  int64_t count = 0;          // its counts
  uint64_t serial = 0;        // objects are numbered as they are made
  bool without_pool = false;  // autoreleased where there was no pool
};
// Every object that is alive now and not immortal; pools and what lies in them included.
std::vector<LiveObject> live_objects();
// At the end of the process what is alive is printed. SOFTMETAL_LEAKS=fatal: and the process fails with exit code 70;
// off: nothing.

// Failures on demand --------------------------------------------------------------------------------------------------

// Calls that can fail on a real machine.
enum class Call : uint8_t {
  create_device,      // nil
  new_command_queue,  // nil
  new_buffer,         // nil
  new_library,        // nil, with a compile log
  new_function,       // nil
  new_pipeline,       // nil, with an error
  new_event,          // nil: newEvent, newSharedEvent, newFence
  new_residency_set,  // nil, with an error
  command_buffer,     // nil
  encoder,            // nil
  commit,             // the command buffer ends in an error
  device_lost,        // counted at commit: this and all later command buffers of the device end with DeviceRemoved
};
std::string_view call_name(Call call);
inline constexpr int kCalls = 12;

// The nth call from now (1: the next) fails, and the `times - 1` after it. Of one kind of call several may stand.
// SOFTMETAL_FAIL=new_buffer:3,commit:2=timeout,device_lost:4 does the same.
void fail(Call call, int nth = 1, int times = 1);
// The nth commit from now ends with that error.
void fail_commit(int nth, MTL::CommandBufferError code);
// The nth call from now that can fail, of whatever kind, fails as it does on a Mac; a commit with that error.
void fail_any(int nth, MTL::CommandBufferError code = MTL::CommandBufferErrorInternal);
// Forgets what was asked for; devices that are lost stay lost.
void reset_failures();
// Calls of that kind since the process began, or since reset_call_counts().
int64_t calls(Call call);
int64_t calls_of_any_kind();
void reset_call_counts();

// What was run --------------------------------------------------------------------------------------------------------

struct Launch {
  std::string kernel, pipeline_label;
  MTL::Size groups, threads;
  double predicted_seconds = 0;              // on the profile's GPU
  double bytes_read = 0, bytes_written = 0;  // counted; with Checks::kernels only
};
// Called after each launch of that device, from its queue's thread. Null: no more.
void on_launch(MTL::Device* device, std::function<void(const Launch&)> observer);

}  // namespace softmetal
