#include "gpu/soft/shadow.h"

#include <algorithm>

#include "gpu/soft/access.h"

namespace chiaro::gpu::soft {

constinit thread_local AccessMap* const* t_access = nullptr;

namespace {

AccessMap* access_of(const Binding& b) {
  return t_access == nullptr ? nullptr : t_access[b.slot];
}

std::string place(const Binding& b, int64_t at, int64_t size) {
  std::string text = "buffer " + std::to_string(b.slot) + " (" + b.name + ") at byte " + std::to_string(at);
  if (size > 0) text += ", element " + std::to_string(at / size) + " of " + std::to_string(size) + " bytes";
  return text;
}

std::string thread_text(uint32_t group, uint32_t thread) {
  return "thread " + std::to_string(thread) + " of threadgroup " + std::to_string(group);
}

void report_device_race(const Binding& b, int64_t at, int64_t size, const std::string& pair, Where where) {
  report_fault(Fault::device_race, place(b, at, size) + " " + pair, where);
}

void report_other_group(const Binding& b, int64_t at, int64_t size, bool write, bool other_wrote, uint32_t other,
                        Where where) {
  const std::string who = other == kManyGroups ? "several threadgroups" : "threadgroup " + std::to_string(other - 1);
  report_device_race(b, at, size,
                     std::string("is ") + (write ? "written" : "read") + " by threadgroup " +
                         std::to_string(b.state->group) + " and " + (other_wrote ? "written" : "read") + " by " + who +
                         ": nothing orders threadgroups",
                     where);
}

void report_within(const Binding& b, int64_t at, int64_t size, bool write, bool other_wrote, uint32_t other,
                   Where where) {
  report_device_race(b, at, size,
                     std::string("is ") + (write ? "written" : "read") + " by " +
                         thread_text(b.state->group, b.state->tid) + " and " + (other_wrote ? "written" : "read") +
                         " by thread " + std::to_string(other) + ", with no threadgroup_barrier(mem_device) between",
                     where);
}

}  // namespace

void Region::allocate() {
  const auto cells = static_cast<size_t>((bytes + granule - 1) / granule);
  writer = make_zeros<std::atomic<uint32_t>>(cells);
  reader = make_zeros<std::atomic<uint32_t>>(cells);
  within = make_zeros<std::atomic<uint64_t>>(cells);
}

Within Within::unpack(uint64_t v) {
  return {static_cast<uint32_t>(v & kEpochMask), static_cast<uint32_t>(v >> 21 & 1023u),
          static_cast<uint32_t>(v >> 31 & kEpochMask), static_cast<uint32_t>(v >> 52 & 1023u), (v >> 62 & 1u) != 0};
}
uint64_t Within::pack() const {
  return uint64_t{write_epoch} | uint64_t{writer} << 21 | uint64_t{read_epoch} << 31 | uint64_t{reader} << 52 |
         uint64_t{many} << 62;
}

void device_read(const Binding& b, int64_t at, int64_t size, Where where) {
  const State& s = *b.state;
  if (AccessMap* access = access_of(b)) access->read(at, size);
  if (b.init != nullptr) {
    for (int64_t i = at; i < at + size; ++i) {
      if (b.init[i].load(std::memory_order_relaxed) == 0) {
        report_fault(
            Fault::uninitialised,
            place(b, at, size) + " is read by " + thread_text(s.group, s.tid) + " before anything was written there",
            where);
        leave_kernel();
      }
    }
  }
  if (b.region == nullptr || b.region->bytes == 0) return;
  Region& r = *b.region;
  const uint32_t me = s.group + 1, epoch = s.device_epoch & kEpochMask;
  // What is only read may begin before the memory that the launch writes, and end behind it.
  const int64_t begin = std::max<int64_t>(b.region_offset + at, 0);
  const int64_t end = std::min(b.region_offset + at + size, r.bytes);
  const int64_t last = begin < end ? (end - 1) / r.granule : -1;
  for (int64_t c = begin / r.granule; c <= last; ++c) {
    uint32_t reader = r.reader[c].load();
    if (reader == 0 && r.reader[c].compare_exchange_strong(reader, me)) reader = me;
    if (reader != me && reader != kManyGroups) r.reader[c].store(kManyGroups);
    const uint32_t writer = r.writer[c].load();
    if (writer != 0 && writer != me) {
      report_other_group(b, at, size, false, true, writer, where);
      leave_kernel();
    }
    if (reader != me && writer != me) continue;
    Within w = Within::unpack(r.within[c].load(std::memory_order_relaxed));
    if (writer == me && w.write_epoch == epoch && w.writer != s.tid) {
      report_within(b, at, size, false, true, w.writer, where);
      leave_kernel();
    }
    if (reader != me) continue;
    if (w.read_epoch != epoch) {
      w.read_epoch = epoch;
      w.reader = s.tid;
      w.many = false;
    } else if (w.reader != s.tid) {
      w.many = true;
    } else {
      continue;
    }
    r.within[c].store(w.pack(), std::memory_order_relaxed);
  }
}

void device_write(const Binding& b, int64_t at, int64_t size, int64_t scalar, Where where) {
  const State& s = *b.state;
  if (AccessMap* access = access_of(b)) access->written(at, size);
  if (b.init != nullptr) {
    for (int64_t i = at; i < at + size; ++i) b.init[i].store(1, std::memory_order_relaxed);
  }
  if (b.region == nullptr) return;
  Region& r = *b.region;
  if (scalar < r.granule) {
    report_fault(Fault::device_race,
                 place(b, at, size) + " is written in scalars of " + std::to_string(scalar) +
                     " bytes; the launch says that its elements have " + std::to_string(r.granule),
                 where);
    leave_kernel();
  }
  const uint32_t me = s.group + 1, epoch = s.device_epoch & kEpochMask;
  const int64_t last = (b.region_offset + at + size - 1) / r.granule;
  for (int64_t c = (b.region_offset + at) / r.granule; c <= last; ++c) {
    uint32_t writer = r.writer[c].load();
    if (writer == 0 && r.writer[c].compare_exchange_strong(writer, me)) writer = me;
    if (writer != me) {
      report_other_group(b, at, size, true, true, writer, where);
      leave_kernel();
    }
    const uint32_t reader = r.reader[c].load();
    if (reader != 0 && reader != me) {
      report_other_group(b, at, size, true, false, reader, where);
      leave_kernel();
    }
    Within w = Within::unpack(r.within[c].load(std::memory_order_relaxed));
    if (w.write_epoch == epoch && w.writer != s.tid) {
      report_within(b, at, size, true, true, w.writer, where);
      leave_kernel();
    }
    if (reader == me && w.read_epoch == epoch && (w.many || w.reader != s.tid)) {
      report_within(b, at, size, true, false, w.reader, where);
      leave_kernel();
    }
    w.write_epoch = epoch;
    w.writer = s.tid;
    r.within[c].store(w.pack(), std::memory_order_relaxed);
  }
}

// Threadgroup memory --------------------------------------------------------------------------------------------------

namespace {

std::string element(const GroupArray& a, uint32_t cell) {
  return std::string(a.name) + "[" + std::to_string(cell) + "]";
}

void report_group_race(const GroupArray& a, uint32_t cell, bool write, bool other_wrote, uint32_t other, Where where) {
  const State& s = *a.state;
  report_fault(Fault::group_race,
               element(a, cell) + " is " + (write ? "written" : "read") + " by " + thread_text(s.group, s.tid) +
                   " and " + (other_wrote ? "written" : "read") + " by thread " + std::to_string(other) +
                   ", with no threadgroup_barrier(mem_threadgroup) between",
               where);
}

// Whether what `thread` did at that simdgroup epoch (in this threadgroup epoch) comes before what runs now.
bool ordered(const State& s, uint32_t thread, uint32_t simd_epoch) {
  return thread == s.tid || (thread / 32 == s.simd && simd_epoch != s.simd_epoch[s.simd]);
}

}  // namespace

void group_read(const GroupArray& a, uint32_t cell, Where where) {
  State& s = *a.state;
  Cell& c = a.cells[cell];
  ++s.group_accesses;
  if (c.born != s.serial) {
    report_fault(Fault::uninitialised,
                 element(a, cell) + " is read by " + thread_text(s.group, s.tid) + " before anything was written there",
                 where);
    leave_kernel();
  }
  if (c.write_epoch == s.epoch && !ordered(s, c.writer, c.write_simd_epoch)) {
    report_group_race(a, cell, false, true, c.writer, where);
    leave_kernel();
  }
  const uint32_t simd_epoch = s.simd_epoch[s.simd];
  if (c.read_epoch != s.epoch) {
    c.read_epoch = s.epoch;
    c.many_lanes = c.many_simds = false;
  } else if (c.reader != s.tid) {
    if (c.reader / 32u != s.simd) {
      c.many_simds = true;
    } else {
      c.many_lanes = c.read_simd_epoch == simd_epoch;  // earlier readers of this simdgroup are ordered by its barrier
    }
  } else if (c.read_simd_epoch != simd_epoch) {
    c.many_lanes = false;
  }
  c.reader = static_cast<uint16_t>(s.tid);
  c.read_simd_epoch = simd_epoch;
}

void group_write(const GroupArray& a, uint32_t cell, Where where) {
  State& s = *a.state;
  Cell& c = a.cells[cell];
  ++s.group_accesses;
  if ((++s.ticks & 0xFFFFFu) == 0) check_clock(where);
  if (c.write_epoch == s.epoch && !ordered(s, c.writer, c.write_simd_epoch)) {
    report_group_race(a, cell, true, true, c.writer, where);
    leave_kernel();
  }
  if (c.read_epoch == s.epoch) {
    const bool lanes = c.many_lanes && c.read_simd_epoch == s.simd_epoch[s.simd];
    if (c.many_simds || lanes || !ordered(s, c.reader, c.read_simd_epoch)) {
      report_group_race(a, cell, true, false, c.reader, where);
      leave_kernel();
    }
  }
  c.write_epoch = s.epoch;
  c.writer = static_cast<uint16_t>(s.tid);
  c.write_simd_epoch = s.simd_epoch[s.simd];
  c.born = s.serial;
}

// What is outside
// ------------------------------------------------------------------------------------------------------

void fault_bounds(const Binding& b, int64_t at, int64_t size, Where where) {
  if (b.base == nullptr) {
    report_fault(Fault::unbound, "buffer " + std::to_string(b.slot) + " (" + b.name + ")", where);
    leave_kernel();
  }
  report_fault(Fault::bounds,
               place(b, at, size) + "; the buffer has " + std::to_string(b.bytes) + " bytes (" +
                   thread_text(b.state->group, b.state->tid) + ")",
               where);
  leave_kernel();
}

void fault_group_bounds(const GroupArray& a, int64_t at, int64_t size, Where where) {
  report_fault(Fault::bounds,
               "threadgroup array " + std::string(a.name) + " at element " + std::to_string(at / size) + " of " +
                   std::to_string(static_cast<int64_t>(a.bytes) / size) + " (" +
                   thread_text(a.state->group, a.state->tid) + ")",
               where);
  leave_kernel();
}

void fault_misaligned(const char* what, const char* name, int64_t size, Where where) {
  report_fault(Fault::misaligned,
               std::string("a pointer into ") + what + " " + name + " is cast to a type aligned to " +
                   std::to_string(size) + " bytes",
               where);
  leave_kernel();
}

void fault_cells(const GroupArray& a, int64_t size, Where where) {
  report_fault(Fault::misaligned,
               "threadgroup array " + std::string(a.name) + " of " + std::to_string(a.cell_bytes) +
                   "-byte elements is cast to elements of " + std::to_string(size) + ": declare it in the smaller ones",
               where);
  leave_kernel();
}

}  // namespace chiaro::gpu::soft
