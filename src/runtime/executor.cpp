#include "runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "runtime/executor_ports.h"
#include "runtime/program.h"
#include "runtime/queue.h"

namespace chiaro {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

// What one queue has to say at the end of a run.
struct QueueOutcome {
  RunReport report;
  std::vector<StepTime> times;
  std::optional<Error> error;
  size_t failed = 0;  // the segment of `error`
  std::exception_ptr thrown;
};

// What a copy is called in a profile.
struct CopyName {
  std::string what, how;
};

CopyName name_copy(const ExecutionPlan& plan, const PlanCopy& copy, const CopyJob& job) {
  const ValueInfo& info = plan.graph.info(copy.value);
  const bool made = info.producer >= 0;
  std::string what =
      made ? plan.graph.nodes()[static_cast<size_t>(info.producer)].label : plan.graph.storage_of(copy.value).name;
  return {std::move(what), fmt::format("{} to {}{}", job.from_device->traits().name, job.to_device->traits().name,
                                       job.way == CopyWay::staged ? ", through the host" : "")};
}

// The devices of `plan` in the engine, in the plan's order.
Result<std::vector<Device*>> find_devices(const Engine& engine, const ExecutionPlan& plan) {
  std::vector<Device*> devices;
  for (const Device* planned : plan.devices) {
    const std::string& name = planned->traits().name;
    devices.push_back(engine.device(name));
    if (devices.back() == nullptr) {
      return Error{ErrorCode::usage, "the plan is for device \"" + name + "\"", "this engine has none of that name",
                   "run a plan on the engine it was made for", ""};
    }
  }
  return devices;
}

// In a serial run, only what the device that runs addresses is accessible; everything again when it goes.
class Access {
 public:
  Access(std::span<Device* const> devices, bool strict) : devices_(devices), strict_(strict) {}
  ~Access() {
    if (!strict_) return;
    for (Device* device : devices_) device->set_accessible(true);
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  void only_for(const Device& runs) {
    if (!strict_) return;
    for (Device* device : devices_) device->set_accessible(runs.addresses(*device));
  }
  void only_for(const CopyJob& copy) {
    if (!strict_) return;
    for (Device* device : devices_) device->set_accessible(device == copy.from_device || device == copy.to_device);
  }

 private:
  std::span<Device* const> devices_;
  bool strict_;
};

}  // namespace

struct Executor::State {
  explicit State(Engine& e) : engine(e) {}
  Status prepare(std::shared_ptr<const ExecutionPlan> next, const RunOptions& staging);
  Status make_queues();
  Status run(const RunOptions& run_options);
  Status run_inline();
  Status run_on_queues();
  void run_queue(size_t queue);
  Result<bool> run_segment(const ProgramSegment& segment, QueueOutcome& out, Access& access, bool threaded);
  Status run_kernels(const ProgramSegment& segment, const ProgramPiece& piece, QueueOutcome& out, bool threaded);
  Status run_one_copy(const ProgramPiece& piece, QueueOutcome& out, bool threaded);
  void tell(const StepTime& time, QueueOutcome& out, bool threaded) const;
  StepTime kernel_time(const PlanStep& step, double seconds) const;
  bool cancelled() const { return options->cancel != nullptr && options->cancel->load(); }

  Engine& engine;
  std::vector<Device*> devices;  // of the plan, owned by the engine
  std::shared_ptr<const ExecutionPlan> plan;
  ExecutorMemory memory;
  CopyJobs copies;
  std::vector<CopyName> copy_names;
  Program program;
  ExecutorPorts ports;
  RunReport report;
  const RunOptions* options = nullptr;  // of the run under way
  bool ready = false;
  std::vector<QueueOutcome> outcomes;  // per device
  std::unique_ptr<Timelines> timelines;
  std::vector<std::unique_ptr<QueueThread>> threads;  // null for devices without segments; none for one device
};

Status Executor::State::prepare(std::shared_ptr<const ExecutionPlan> next, const RunOptions& staging) {
  ready = false;
  threads.clear();
  CHIARO_ASSIGN(std::vector<Device*> found, find_devices(engine, *next));
  const bool same = found == devices;
  devices = std::move(found);
  plan = std::move(next);
  Program old_program = std::exchange(program, {});
  ExecutorMemory old_memory = std::exchange(memory, {});
  copies = {};
  ports = {};
  if (!same) {
    old_program = {};
    old_memory = {};
  }
  const PackingOptions packing{staging.cancel, staging.on_cache_write};
  CHIARO_ASSIGN(memory, ExecutorMemory::make(*plan, devices, engine.packed_weights(), packing, std::move(old_memory)));
  CHIARO_ASSIGN(copies, CopyJobs::make(*plan, devices, memory, engine.allocator()));
  CHIARO_ASSIGN(ports, ExecutorPorts::make(*plan, devices, engine.allocator()));
  CHIARO_ASSIGN(program, make_program(plan, devices, memory, std::move(old_program)));
  copy_names.clear();
  for (size_t i = 0; i < plan->copies.size(); ++i) {
    copy_names.push_back(name_copy(*plan, plan->copies[i], copies[static_cast<int32_t>(i)]));
  }
  CHIARO_TRY(make_queues());
  ready = true;
  return {};
}

Status Executor::State::make_queues() {
  outcomes = std::vector<QueueOutcome>(std::max<size_t>(devices.size(), 1));
  const auto used =
      std::count_if(program.queues.begin(), program.queues.end(), [](const auto& q) { return !q.empty(); });
  if (used < 2) return {};
  timelines = std::make_unique<Timelines>(devices.size());
  threads.resize(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    if (program.queues[d].empty()) continue;
    CHIARO_ASSIGN(threads[d], QueueThread::create([this, d] { run_queue(d); }));
  }
  return {};
}

StepTime Executor::State::kernel_time(const PlanStep& step, double seconds) const {
  const Node& node = plan->graph.nodes()[static_cast<size_t>(step.node)];
  std::vector<const TensorDesc*> descs;
  for (const Value v : node.inputs) descs.push_back(v.valid() ? &plan->graph.info(v).desc : nullptr);
  const Cost cost = node.op->cost(node.attrs, descs, plan->graph.info(node.output).desc);
  const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return {node.op->name,
          node.label,
          step.kernel.kernel(),
          seconds,
          devices[static_cast<size_t>(step.device)]->traits().name,
          Clock::now() - length,
          static_cast<int64_t>(cost.bytes),
          cost.flops};
}

// Threads keep what they have to tell until the run's end: callers expect their callbacks on their own thread.
void Executor::State::tell(const StepTime& time, QueueOutcome& out, bool threaded) const {
  if (threaded) {
    out.times.push_back(time);
  } else {
    options->on_step(time);
  }
}

Status Executor::State::run_kernels(const ProgramSegment& segment, const ProgramPiece& piece, QueueOutcome& out,
                                    bool threaded) {
  Device& device = *devices[segment.queue];
  LaunchTimer timer;
  if (options->on_step) {
    timer = [&](size_t launch, double seconds) {
      tell(kernel_time(plan->steps[static_cast<size_t>(piece.first) + launch], seconds), out, threaded);
    };
  }
  CHIARO_TRY(device.submit(*piece.kernels, options->cancel, timer));
  return device.wait(*piece.kernels);
}

Status Executor::State::run_one_copy(const ProgramPiece& piece, QueueOutcome& out, bool threaded) {
  const CopyJob& job = copies[piece.copy];
  const CopyName& name = copy_names[static_cast<size_t>(piece.copy)];
  const auto start = Clock::now();
  if (auto status = run_copy(job, options->cancel); !status.ok()) return std::move(status).error().at(name.what);
  const double seconds = seconds_between(start, Clock::now());
  ++out.report.copies;
  out.report.staged_copies += job.way == CopyWay::staged ? 1 : 0;
  out.report.copied_bytes += job.bytes;
  out.report.copy_seconds += seconds;
  if (options->on_step) {
    tell({"copy", name.what, name.how, seconds, job.to_device->traits().name, start, job.bytes}, out, threaded);
  }
  return {};
}

// False where another queue has stopped the run: the rest of the segment is left out.
Result<bool> Executor::State::run_segment(const ProgramSegment& segment, QueueOutcome& out, Access& access,
                                          bool threaded) {
  for (const ProgramPiece& piece : segment.pieces) {
    if (threaded && timelines->stopped()) return false;
    if (cancelled()) return Error{ErrorCode::cancelled, "stopped on request", "", "", ""};
    if (piece.copy >= 0) {
      access.only_for(copies[piece.copy]);
      CHIARO_TRY(run_one_copy(piece, out, threaded));
    } else {
      access.only_for(*devices[segment.queue]);
      CHIARO_TRY(run_kernels(segment, piece, out, threaded));
    }
  }
  return true;
}

Status Executor::State::run_inline() {
  QueueOutcome& out = outcomes.front();
  Access access(engine.devices(), options->serial);
  for (const ProgramSegment& segment : program.segments) {
    CHIARO_ASSIGN(const bool done, run_segment(segment, out, access, false));
    (void)done;
  }
  return {};
}

// The work of a queue's thread in one run.
void Executor::State::run_queue(size_t queue) {
  QueueOutcome& out = outcomes[queue];
  Access access(engine.devices(), false);
  try {
    for (const size_t index : program.queues[queue]) {
      const ProgramSegment& segment = program.segments[index];
      for (const ProgramWait& wait : segment.waits) {
        if (!timelines->wait(wait.queue, wait.value)) return;
      }
      auto done = run_segment(segment, out, access, true);
      if (!done.ok()) {
        out.error = std::move(done).error();
        out.failed = index;
        timelines->stop();
        return;
      }
      if (!*done) return;
      timelines->signal(queue, segment.value);
    }
  } catch (...) {  // a host function or an allocation of a kernel; thrown again on the caller's thread
    out.thrown = std::current_exception();
    timelines->stop();
  }
}

Status Executor::State::run_on_queues() {
  timelines->restart();
  for (const auto& thread : threads) {
    if (thread) thread->start();
  }
  for (const auto& thread : threads) {
    if (thread) thread->finish();
  }
  QueueOutcome* first = nullptr;
  for (QueueOutcome& out : outcomes) {
    if (out.thrown) std::rethrow_exception(out.thrown);
    if (out.error && (first == nullptr || out.failed < first->failed)) first = &out;
  }
  if (first != nullptr) return std::move(*first->error);
  return {};
}

Status Executor::State::run(const RunOptions& run_options) {
  options = &run_options;
  for (QueueOutcome& out : outcomes) {
    out.report = {};
    out.times.clear();
    out.error.reset();
    out.thrown = nullptr;
  }
  const bool threaded = !threads.empty() && !run_options.serial;
  Status status = threaded ? run_on_queues() : run_inline();
  std::vector<StepTime> times;
  for (const QueueOutcome& out : outcomes) {
    report.copies += out.report.copies;
    report.staged_copies += out.report.staged_copies;
    report.copied_bytes += out.report.copied_bytes;
    report.copy_seconds += out.report.copy_seconds;
    times.insert(times.end(), out.times.begin(), out.times.end());
  }
  std::stable_sort(times.begin(), times.end(), [](const StepTime& a, const StepTime& b) { return a.start < b.start; });
  for (const StepTime& time : times) run_options.on_step(time);
  return status;
}

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(Engine& engine, std::shared_ptr<const ExecutionPlan> plan,
                                                   const RunOptions& options) {
  auto state = std::make_unique<State>(engine);
  CHIARO_TRY(state->prepare(std::move(plan), options));
  return std::unique_ptr<Executor>(new Executor(std::move(state)));
}

Status Executor::reset(std::shared_ptr<const ExecutionPlan> plan, const RunOptions& options) {
  return state_->prepare(std::move(plan), options);
}

Status Executor::run(std::span<const Binding> inputs, std::span<const Binding> outputs, const RunOptions& options) {
  State& s = *state_;
  if (!s.ready) return Error{ErrorCode::usage, "the executor has no plan", "its last reset failed", "reset it", ""};
  CHIARO_TRY(ExecutorPorts::check(*s.plan, inputs, outputs));
  s.report = {};
  CHIARO_TRY(s.ports.load(*s.plan, s.devices, s.memory, inputs, s.report));
  CHIARO_TRY(s.run(options));
  return s.ports.store(*s.plan, s.devices, s.memory, inputs, outputs, s.report);
}

const ExecutionPlan& Executor::plan() const {
  return *state_->plan;
}
const std::vector<std::shared_ptr<Buffer>>& Executor::packed_weights() const {
  return state_->memory.packed();
}
RunReport Executor::last_run() const {
  return state_->report;
}
int64_t Executor::compiled_segments() const {
  return state_->program.compiled;
}
int64_t Executor::kept_segments() const {
  return state_->program.replayed;
}

}  // namespace chiaro
