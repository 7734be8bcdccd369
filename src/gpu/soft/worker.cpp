#include "gpu/soft/worker.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

namespace chiaro::gpu::soft {

constinit thread_local State* t_state = nullptr;
namespace {
constinit thread_local Worker* t_worker = nullptr;

constexpr size_t kArrayAlign = 16;
constexpr size_t kMostArrays = 32;

// Read anew after every switch: a fiber never moves to another host thread, but the compiler need not know.
[[gnu::noinline]] Worker* worker_now() {
  return t_worker;
}

}  // namespace

Worker& Worker::current() {
  return *worker_now();
}

Worker::Worker() {
  arrays_.resize(kMostArrays);
}
Worker::~Worker() {
  unmap_stacks(stacks_, stack_count_);
}

Status Worker::begin(const Launch& launch) {
  const Error refused{ErrorCode::out_of_memory, "the software GPU has no memory for a threadgroup's stacks", "", "",
                      ""};
  launch_ = &launch;
  bindings_ = launch.bindings;
  for (Binding& b : bindings_) b.state = &state_;
  state_.constants = launch.dispatch->constants.data();
  state_.constant_count = launch.dispatch->constants.size();
  state_.group_accesses = 0;
  counts_ = {};
  faulted_ = false;
  for (uint32_t i = 0; i < 32; ++i) {  // an odd factor permutes the lanes
    order_[i] = (i * (2 * launch.schedule + 1) + launch.schedule) % 32;
    place_[order_[i]] = i;
  }
  const size_t fibers = launch.plain ? 1 : launch.dispatch->threads;
  if (stack_count_ < fibers) {
    unmap_stacks(stacks_, stack_count_);
    stack_count_ = 0;
    stacks_ = map_stacks(fibers);
    if (stacks_ == nullptr) return refused;
    stack_count_ = fibers;
  }
  fibers_.resize(launch.dispatch->threads);
  const size_t bytes = launch.entry->facts.group_bytes + kArrayAlign;
  if (memory_bytes_ < bytes) {
    memory_.reset(new (std::nothrow) std::byte[bytes]);
    cells_.reset(launch.checks ? new (std::nothrow) Cell[bytes]() : nullptr);
    memory_bytes_ = memory_ != nullptr ? bytes : 0;
    if (memory_ == nullptr) return refused;
  }
  if (launch.checks && cells_ == nullptr) cells_.reset(new (std::nothrow) Cell[memory_bytes_]());
  if (launch.checks && cells_ == nullptr) return refused;
  return {};
}

bool Worker::run_group(UInt3 group, uint32_t linear) {
  t_worker = this;
  t_state = &state_;
  t_access = launch_->access.empty() ? nullptr : launch_->access.data();
  state_.group = linear;
  ++state_.serial;
  ++state_.epoch;
  state_.device_epoch = 1;
  std::fill(std::begin(state_.simd_epoch), std::end(state_.simd_epoch), 0u);
  arrays_used_ = memory_used_ = 0;
  if (launch_->checks && launch_->entry->facts.group_bytes > 0) {
    std::memset(memory_.get(), 0xFF, memory_bytes_);  // NaN in every float type
  }
  start_fibers(group);
  scheduler_ = {};  // another host thread may run this worker now
  const bool ok = launch_->plain ? run_plain() : run_threads();
  counts_.group_accesses = state_.group_accesses;
  t_worker = nullptr;
  t_state = nullptr;
  t_access = nullptr;
  return ok;
}

void Worker::start_fibers(UInt3 group) {
  const GpuDispatch& d = *launch_->dispatch;
  const UInt3 groups{d.groups.x, d.groups.y, d.groups.z};
  const uint32_t count = launch_->plain ? 1 : d.threads;
  for (uint32_t t = 0; t < count; ++t) {
    Fiber& f = fibers_[t];
    f.context = make_fiber(stacks_ + t * kFiberStack, &Worker::fiber_main, t);
    f.wait = Wait::ready;
    f.thread = {t, d.threads, t % 32, t / 32, d.threads / 32, group, groups};
  }
}

void Worker::fiber_main() {
  Worker& w = current();
  fiber_arrived(w.scheduler_);
  const Launch& launch = *w.launch_;
  const std::byte* args = launch.dispatch->args.data();
  if (launch.plain) {
    Thread thread = w.fibers_[0].thread;
    launch.entry->all(thread, w.bindings_.data(), args, &w.state_.tid);
    w.state_.tid = 0;
  } else {
    launch.entry->one(w.running().thread, w.bindings_.data(), args);
  }
  w.block(Wait::done, {});
}

// Leaves the running fiber: to the next lane of its simdgroup that can run, or to the scheduler.
void Worker::block(Wait wait, Where where) {
  Fiber& f = running();
  f.wait = wait;
  f.where = where;
  if (!launch_->plain) {
    const uint32_t first = state_.tid / 32 * 32;
    for (uint32_t i = place_[state_.tid % 32] + 1; i < 32; ++i) {
      const uint32_t t = first + order_[i];
      if (fibers_[t].wait != Wait::ready) continue;
      state_.tid = t;
      switch_fiber(f.context, fibers_[t].context, wait == Wait::done);
      return;
    }
  }
  switch_fiber(f.context, scheduler_, wait == Wait::done);
}

void Worker::resume(uint32_t tid) {
  state_.tid = tid;
  state_.simd = tid / 32;
  switch_fiber(scheduler_, fibers_[tid].context);
}

bool Worker::run_plain() {
  resume(0);
  return !faulted_;
}

bool Worker::report(Fault kind, std::string text, Where where) {
  fault_ = {kind, std::move(text), where};
  faulted_ = true;
  return false;
}

std::string Worker::waiting_text(const Fiber& f, uint32_t tid) const {
  const std::string who = "thread " + std::to_string(tid);
  switch (f.wait) {
    case Wait::done: return who + " has ended";
    case Wait::barrier: return who + " waits at the barrier of line " + std::to_string(f.where.line);
    case Wait::simd: return who + " waits at the simdgroup operation of line " + std::to_string(f.where.line);
    case Wait::ready: break;
  }
  return who + " runs";
}

// Runs the lanes of a simdgroup until all wait at a barrier of the threadgroup or have ended.
bool Worker::run_simdgroup(uint32_t simd) {
  Fiber* lanes = &fibers_[simd * 32];
  for (;;) {
    for (const uint32_t i : order_) {
      if (lanes[i].wait != Wait::ready) continue;
      resume(simd * 32 + i);
      if (faulted_) return false;
    }
    const auto waits = [](const Fiber& f) { return f.wait == Wait::simd; };
    Fiber* first = std::find_if(lanes, lanes + 32, waits);
    if (first == lanes + 32) return true;
    for (uint32_t i = 0; i < 32; ++i) {
      const Fiber& f = lanes[i];
      if (f.wait == Wait::simd && f.op == first->op && f.where.line == first->where.line &&
          f.where.file == first->where.file) {
        continue;
      }
      return report(Fault::divergent_simd,
                    waiting_text(*first, simd * 32 + static_cast<uint32_t>(first - lanes)) + " and " +
                        waiting_text(f, simd * 32 + i) + " (threadgroup " + std::to_string(state_.group) + ")",
                    first->where);
    }
    combine(lanes);
    if (faulted_) return false;
  }
}

bool Worker::run_threads() {
  const auto simds = static_cast<uint32_t>(fibers_.size() / 32);
  for (;;) {
    for (uint32_t s = 0; s < simds; ++s) {
      if (!run_simdgroup(launch_->schedule % 2 == 0 ? s : simds - 1 - s)) return false;
    }
    const bool done = std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber& f) { return f.wait == Wait::done; });
    if (done) return true;
    if (!release_barrier()) return false;
  }
}

bool Worker::release_barrier() {
  const Fiber* first =
      &*std::find_if(fibers_.begin(), fibers_.end(), [](const Fiber& f) { return f.wait == Wait::barrier; });
  for (uint32_t t = 0; t < fibers_.size(); ++t) {
    const Fiber& f = fibers_[t];
    if (f.wait == Wait::barrier && f.where.line == first->where.line && f.where.file == first->where.file) continue;
    return report(Fault::divergent_barrier,
                  waiting_text(*first, static_cast<uint32_t>(first - fibers_.data())) + " and " + waiting_text(f, t) +
                      " (threadgroup " + std::to_string(state_.group) + ")",
                  first->where);
  }
  uint32_t flags = 3;
  for (const Fiber& f : fibers_) flags &= f.argument;
  if ((flags & 2) != 0) ++state_.epoch;
  if ((flags & 1) != 0) ++state_.device_epoch;
  ++counts_.barriers;
  for (Fiber& f : fibers_) f.wait = Wait::ready;
  return true;
}

namespace {

float as_float(uint32_t v) {
  return std::bit_cast<float>(v);
}

// One step of a butterfly, in the order in which CUDA's shuffles add.
uint32_t reduce(SimdOp op, uint32_t a, uint32_t b) {
  const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (op) {
    case SimdOp::sum_float: return std::bit_cast<uint32_t>(as_float(a) + as_float(b));
    case SimdOp::max_float: return std::bit_cast<uint32_t>(std::fmax(as_float(a), as_float(b)));
    case SimdOp::min_float: return std::bit_cast<uint32_t>(std::fmin(as_float(a), as_float(b)));
    case SimdOp::sum_int: return a + b;
    case SimdOp::max_int: return static_cast<uint32_t>(std::max(x, y));
    case SimdOp::min_int: return static_cast<uint32_t>(std::min(x, y));
    case SimdOp::max_uint: return std::max(a, b);
    case SimdOp::min_uint: return std::min(a, b);
    default: return a;
  }
}

}  // namespace

// All 32 lanes wait at the same operation.
void Worker::combine(Fiber* lanes) {
  const SimdOp op = lanes[0].op;
  uint32_t values[32], next[32];
  for (int i = 0; i < 32; ++i) values[i] = lanes[i].bits;
  ++counts_.simd_operations;
  const auto from = [&](int lane, uint32_t source) -> uint32_t {
    if (source < 32) return values[source];
    report(Fault::bounds, "simdgroup shuffle from lane " + std::to_string(source) + " in lane " + std::to_string(lane),
           lanes[lane].where);
    return 0;
  };
  switch (op) {
    case SimdOp::barrier:
      if ((lanes[0].argument & 2) != 0) ++state_.simd_epoch[lanes[0].thread.simd];
      break;
    case SimdOp::matrix_access: break;
    case SimdOp::matrix_product: multiply(lanes); break;
    case SimdOp::shuffle:
      for (int i = 0; i < 32; ++i) next[i] = from(i, lanes[i].argument);
      break;
    case SimdOp::shuffle_xor:
      for (int i = 0; i < 32; ++i) next[i] = from(i, static_cast<uint32_t>(i) ^ lanes[i].argument);
      break;
    case SimdOp::broadcast:
      for (int i = 0; i < 32; ++i) {
        next[i] = from(i, lanes[i].argument);
        if (lanes[i].argument == lanes[0].argument) continue;
        report(Fault::divergent_simd,
               "simd_broadcast from lane " + std::to_string(lanes[0].argument) + " and from lane " +
                   std::to_string(lanes[i].argument),
               lanes[i].where);
      }
      break;
    default:
      for (uint32_t offset = 16; offset > 0; offset /= 2) {
        for (uint32_t i = 0; i < 32; ++i) next[i] = reduce(op, values[i], values[i ^ offset]);
        std::copy(next, next + 32, values);
      }
  }
  const bool value = op != SimdOp::barrier && op != SimdOp::matrix_access && op != SimdOp::matrix_product;
  for (int i = 0; i < 32; ++i) {
    if (value) lanes[i].bits = next[i];
    lanes[i].wait = Wait::ready;
  }
}

// d = a * b + c, each element by fused multiply-adds over k in order.
void Worker::multiply(Fiber* lanes) {
  ++counts_.matrix_products;
  float a[8][8], b[8][8];
  for (int i = 0; i < 32; ++i) {
    const MatrixOperands& m = lanes[i].matrix;
    std::copy(m.a, m.a + 2, &a[i / 4][i % 4 * 2]);
    std::copy(m.b, m.b + 2, &b[i / 4][i % 4 * 2]);
  }
  for (int i = 0; i < 32; ++i) {
    const MatrixOperands& m = lanes[i].matrix;
    for (int j = 0; j < 2; ++j) {
      float sum = m.c[j];
      for (int k = 0; k < 8; ++k) sum = std::fma(a[i / 4][k], b[k][i % 4 * 2 + j], sum);
      m.d[j] = sum;
    }
  }
}

// Called by kernels
// ----------------------------------------------------------------------------------------------------

void report_fault(Fault kind, std::string text, Where where) {
  Worker::current().report(kind, std::move(text), where);
}

void leave_kernel() {
  Worker& w = Worker::current();
  switch_fiber(w.left_, w.scheduler_, true);
  __builtin_unreachable();
}

void check_clock(Where where) {
  const Launch& launch = *Worker::current().launch_;
  if (Clock::now() < launch.deadline) return;
  report_fault(Fault::time_limit, "it still runs after " + std::to_string(launch.limit_seconds) + " s of real time",
               where);
  leave_kernel();
}

GroupArray* group_array(const void* tag, const char* name, uint32_t count, uint32_t element, Where where) {
  Worker& w = Worker::current();
  for (uint32_t i = 0; i < w.arrays_used_; ++i) {
    if (w.arrays_[i].tag == tag) return &w.arrays_[i];
  }
  const uint32_t bytes = count * element, room = (bytes + 15) / 16 * 16, declared = w.launch_->entry->facts.group_bytes;
  if (w.memory_used_ + room > declared || w.arrays_used_ == kMostArrays) {
    report_fault(Fault::group_memory,
                 "the kernel declares " + std::to_string(declared) + " bytes of threadgroup memory; " + name +
                     " brings it to " + std::to_string(w.memory_used_ + room),
                 where);
    leave_kernel();
  }
  auto base = reinterpret_cast<uintptr_t>(w.memory_.get());
  base = (base + kArrayAlign - 1) / kArrayAlign * kArrayAlign;
  GroupArray& a = w.arrays_[w.arrays_used_++];
  a = {tag,     name,     reinterpret_cast<std::byte*>(base) + w.memory_used_, w.cells_.get() + w.memory_used_, bytes,
       element, &w.state_};
  w.memory_used_ += room;
  return &a;
}

uint32_t constant_bits(int index, GpuConstant::Kind kind, Where where) {
  const char* names[] = {"bool", "int", "uint"};
  const State& s = *t_state;
  const bool given = static_cast<size_t>(index) < s.constant_count;
  report_fault(Fault::constant,
               "function constant " + std::to_string(index) + " is a " + names[static_cast<int>(kind)] +
                   (given ? std::string("; the launch gives a ") + names[static_cast<int>(s.constants[index].kind)]
                          : "; the launch gives no value"),
               where);
  leave_kernel();
}

void threadgroup_barrier(uint32_t flags, Where where) {
  Worker& w = Worker::current();
  if (w.launch_->plain) {
    report_fault(Fault::undeclared, "a barrier in a kernel that declares neither threadgroup memory nor NEEDS_BARRIER",
                 where);
    leave_kernel();
  }
  w.running().argument = flags;
  w.block(Worker::Wait::barrier, where);
  if (w.launch_->checks && (++w.state_.ticks & 0xFFFu) == 0) check_clock(where);
}

uint32_t simd_operation(SimdOp op, uint32_t bits, uint32_t argument, Where where) {
  Worker& w = Worker::current();
  const uint32_t needs = w.launch_->entry->facts.needs;
  const bool matrix = op == SimdOp::matrix_access || op == SimdOp::matrix_product;
  if (matrix && (needs & kGpuNeedsSimdMatrix) == 0) {
    report_fault(Fault::undeclared, "a simdgroup matrix in a kernel that does not declare NEEDS_SIMD_MATRIX", where);
    leave_kernel();
  }
  if (!matrix && op != SimdOp::barrier && (needs & kGpuNeedsSimdReduce) == 0) {
    report_fault(Fault::undeclared, "a simdgroup operation in a kernel that does not declare NEEDS_SIMD_REDUCE", where);
    leave_kernel();
  }
  if (w.launch_->plain) {
    report_fault(Fault::undeclared,
                 "a simdgroup barrier in a kernel that declares neither threadgroup memory nor NEEDS_BARRIER", where);
    leave_kernel();
  }
  Worker::Fiber& f = w.running();
  f.op = op;
  f.bits = bits;
  f.argument = argument;
  w.block(Worker::Wait::simd, where);
  return f.bits;
}

void simdgroup_barrier(uint32_t flags, Where where) {
  simd_operation(SimdOp::barrier, 0, flags, where);
}

void simd_matrix_product(const MatrixOperands& operands, Where where) {
  Worker& w = Worker::current();
  w.running().matrix = operands;
  simd_operation(SimdOp::matrix_product, 0, 0, where);
}

void simd_matrix_access(Where where) {
  if (Worker::current().launch_->checks) simd_operation(SimdOp::matrix_access, 0, 0, where);
}

const char* fault_name(Fault kind) {
  switch (kind) {
    case Fault::bounds: return "out of bounds";
    case Fault::misaligned: return "misaligned pointer";
    case Fault::unbound: return "access to a buffer that is not bound";
    case Fault::group_race: return "race on threadgroup memory";
    case Fault::device_race: return "race on device memory";
    case Fault::uninitialised: return "read before write";
    case Fault::divergent_barrier: return "divergent barrier";
    case Fault::divergent_simd: return "divergent simdgroup operation";
    case Fault::undeclared: return "undeclared feature";
    case Fault::group_memory: return "threadgroup memory";
    case Fault::constant: return "function constant";
    case Fault::time_limit: return "time limit";
  }
  return "fault";
}

}  // namespace chiaro::gpu::soft
