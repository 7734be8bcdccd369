// The symbolic run behind verify(): a plan's steps in list order, on memory that only says what it holds. Each file
// verify_*.cpp holds the checks of one concern; verify.h lists the points.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "plan/verify_bytes.h"
#include "plan/verify_error.h"
#include "plan/verify_memory.h"
#include "plan/verify_order.h"

namespace chiaro {

class Replay {
 public:
  explicit Replay(const ExecutionPlan& plan);
  Status run();

 private:
  // Bytes that an in-place node wrote on an image, and that no copy has brought home yet.
  struct Away {
    Value value;
    int64_t begin = 0, end = 0;  // of the storage
  };
  struct StorageState {
    MemRef home;                // of its byte 0; region none until it is made
    std::vector<Value> writes;  // the value that makes version i + 1
    int32_t version = 0;        // the newest that is made: in-place steps of one storage run in order
    bool copied = false;        // some of its bytes were copied: more than one memory may hold them
    std::vector<Away> away;
  };

  // verify.cpp
  Status take_sources();
  Status take_staged();
  Status replay_kernel(const PlanStep& step);
  Status check_all_ran() const;
  Status check_one_device() const;
  Status check_outputs();

  // verify_kernels.cpp: points 1 and 6
  Status check_step(const PlanStep& step, const Node& node);
  Status check_kernel(const PlanStep& step, const Node& node, const Device& device);
  Operand operand(Value v) const;

  // verify_reads.cpp: point 2
  Status check_read(Value v, const MemRef& ref, int32_t reader, const std::string& label);
  Status check_source(Value v, const MemRef& ref, const std::string& label) const;
  Status check_packed(Value v, const PlanStep& step, const MemRef& ref, const std::string& label) const;
  Status check_holds(Value v, const MemRef& ref, const std::string& label) const;
  Status check_bounds(Value v, const MemRef& ref, int64_t bytes, const std::string& label) const;
  // Whether bytes [a, b) of a storage are the same at version `have` and `want`, as far as `view` (which starts at byte
  // `at` of the storage) looks at them.
  bool same_bytes(int32_t storage, int32_t have, int32_t want, int64_t a, int64_t b, const Extent& view,
                  int64_t at) const;
  std::string holding_text(int32_t device, const Holding& h, int64_t a, int64_t b) const;

  // verify_writes.cpp: points 3 and 4
  Status check_result(const PlanStep& step, const Node& node);
  Status check_target(const PlanStep& step, const Node& node) const;
  Status check_alias(const PlanStep& step, const Node& node) const;
  Status check_scratch(const PlanStep& step, const Node& node) const;
  bool overlaps_operand(const PlanStep& step, const Node& node, size_t i, int32_t device, int64_t begin,
                        int64_t end) const;
  Status write(const PlanStep& step, const Node& node);
  Status write_in_place(const PlanStep& step, const Node& node);
  void mark_written(const MemRef& output, Value written);

  // verify_copies.cpp: points 2, 3 and 4 of copies
  Status replay_copy(const PlanStep& step);
  Status check_copy(const PlanStep& step, const PlanCopy& copy, const std::string& label);
  Status check_carries(const PlanCopy& copy, const std::string& label) const;
  void carry(const PlanCopy& copy);
  Status check_copy_target(const PlanCopy& copy, const std::string& label) const;
  Status check_all_home() const;
  void bring_home(StorageState& state, const PlanCopy& copy) const;

  // verify_reads.cpp: point 5 of one access of the step that is replayed
  Status order_access(const MemRef& ref, const Extent& bytes, bool write, const std::string& label);

  const Extent& extent(Value v) const { return extents_[static_cast<size_t>(v.id)]; }
  StorageState& state(int32_t storage) { return storages_[static_cast<size_t>(storage)]; }
  const StorageState& state(int32_t storage) const { return storages_[static_cast<size_t>(storage)]; }
  ArenaContents& arena(int32_t device) { return arenas_[static_cast<size_t>(device)]; }
  const Device& device(int32_t index) const { return *plan_.devices[static_cast<size_t>(index)]; }
  const std::string& device_name(int32_t index) const { return device(index).traits().name; }
  bool has_device(int32_t index) const { return index >= 0 && static_cast<size_t>(index) < plan_.devices.size(); }
  bool addresses(int32_t reader, int32_t owner) const {
    return reader == owner || device(reader).addresses(device(owner));
  }
  bool staged(const MemRef& ref) const;
  bool is_home(int32_t storage, int32_t device, int64_t base) const {
    const MemRef& home = state(storage).home;
    return home.region == Region::arena && home.device == device && home.offset == base;
  }
  std::string value_text(Value v) const;
  std::string step_text(size_t step) const;

  const ExecutionPlan& plan_;
  const Graph& graph_;
  SegmentOrder order_;
  std::vector<StorageState> storages_;
  std::vector<int32_t> ran_;                          // by node: the step that ran it, or -1
  std::vector<bool> copied_;                          // by copy
  std::vector<bool> staged_inputs_, staged_weights_;  // by device and index
  std::vector<ArenaContents> arenas_;                 // by device
  std::vector<ArenaAccesses> accesses_;               // likewise; empty where there is one queue
  std::vector<Operand> operands_;                     // of the node at hand
  std::vector<Extent> extents_;                       // by value
  size_t step_ = 0;                                   // the one that is replayed
};

}  // namespace chiaro
