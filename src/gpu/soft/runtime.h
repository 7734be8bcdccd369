// What compiled kernels and the software GPU share: threads, bindings, and the calls that leave a kernel.
//
// Thread rule: one Worker per host thread runs whole threadgroups; t_state is its view of the thread that runs now.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/dispatch.h"

namespace chiaro::gpu::soft {

// A place in a kernel's source, taken where a function with a Where parameter is called.
struct Where {
  const char* file = "";
  int line = 0;
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

struct UInt3 {
  uint32_t x = 0, y = 0, z = 0;
};

struct Thread {
  uint32_t thread = 0, threads = 0, lane = 0, simd = 0, simds = 0;
  UInt3 group, groups;
};

struct Region;
struct State;

// A buffer as a worker's threads see it. Every worker has its own copies, so counters need no atomics.
struct Binding {
  std::byte* base = nullptr;
  int64_t bytes = 0;
  int slot = 0;
  const char* name = "";
  Region* region = nullptr;              // shadow of writable memory that this buffer touches
  int64_t region_offset = 0;             // of base in the region
  std::atomic<uint8_t>* init = nullptr;  // a byte per byte from base on: whether it was ever written
  State* state = nullptr;
  uint64_t read = 0, written = 0;  // bytes
};

// Who touched an element of threadgroup memory since the last barriers, and whether it was ever written.
struct Cell {
  uint32_t write_epoch = 0, write_simd_epoch = 0;
  uint32_t read_epoch = 0, read_simd_epoch = 0;
  uint16_t writer = 0, reader = 0;
  bool many_lanes = false, many_simds = false;  // more than one reader
  uint32_t born = 0;                            // the threadgroup (its serial) that wrote it
};

struct GroupArray {
  const void* tag = nullptr;
  const char* name = "";
  std::byte* memory = nullptr;
  Cell* cells = nullptr;  // one per element of the declared type
  uint32_t bytes = 0, cell_bytes = 1;
  State* state = nullptr;
};

// The running thread and its threadgroup's clocks.
struct State {
  uint32_t tid = 0, simd = 0;
  uint32_t group = 0;         // linear
  uint32_t serial = 0;        // of the threadgroup, over all launches of a worker
  uint32_t epoch = 1;         // barriers that order threadgroup memory
  uint32_t device_epoch = 1;  // barriers that order device memory
  uint32_t simd_epoch[32] = {};
  const GpuConstant* constants = nullptr;
  size_t constant_count = 0;
  uint32_t ticks = 0;
  uint64_t group_accesses = 0;
};

extern constinit thread_local State* t_state;

enum class Fault : uint8_t {
  bounds,
  misaligned,
  unbound,
  group_race,
  device_race,
  uninitialised,
  divergent_barrier,
  divergent_simd,
  undeclared,
  group_memory,
  constant,
  time_limit,
};
const char* fault_name(Fault kind);
// A fault in two steps: what happened, then the way out of the kernel. No frame is unwound on the way, so nothing that
// owns memory may live in a function that calls leave_kernel().
void report_fault(Fault kind, std::string text, Where where);
[[noreturn]] void leave_kernel();

// Slow paths of memory accesses.
[[noreturn]] void fault_bounds(const Binding& b, int64_t at, int64_t size, Where where);
[[noreturn]] void fault_group_bounds(const GroupArray& a, int64_t at, int64_t size, Where where);
[[noreturn]] void fault_misaligned(const char* what, const char* name, int64_t size, Where where);
[[noreturn]] void fault_cells(const GroupArray& a, int64_t size, Where where);
void device_read(const Binding& b, int64_t at, int64_t size, Where where);
void device_write(const Binding& b, int64_t at, int64_t size, int64_t scalar, Where where);
void group_read(const GroupArray& a, uint32_t cell, Where where);
void group_write(const GroupArray& a, uint32_t cell, Where where);
void check_clock(Where where);

GroupArray* group_array(const void* tag, const char* name, uint32_t count, uint32_t element, Where where);

uint32_t constant_bits(int index, GpuConstant::Kind kind, Where where);

// 1: device memory, 2: threadgroup memory (the values of mem_flags).
void threadgroup_barrier(uint32_t flags, Where where);
void simdgroup_barrier(uint32_t flags, Where where);

enum class SimdOp : uint8_t {
  barrier,
  sum_float,
  max_float,
  min_float,
  sum_int,
  max_int,
  min_int,
  max_uint,
  min_uint,
  shuffle,
  shuffle_xor,
  broadcast,
  matrix_access,
  matrix_product,
};
uint32_t simd_operation(SimdOp op, uint32_t bits, uint32_t argument, Where where);
// Fragments of two elements a lane: lane l holds row l / 4, columns l % 4 * 2 and the next.
struct MatrixOperands {
  const float *a, *b, *c;
  float* d;
};
void simd_matrix_product(const MatrixOperands& operands, Where where);
// All lanes are here: a matrix is loaded or stored by the whole simdgroup.
void simd_matrix_access(Where where);

}  // namespace chiaro::gpu::soft
