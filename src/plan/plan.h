// Plan: an immutable, complete schedule of a graph. The executor runs Plans and nothing else.
//
// Thread rule: immutable after make_plan; several executors may share one.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "graph/graph.h"

namespace chiaro {

class WideWeights;

// Where an operand lives: a byte offset into the arena of `device`, or into its copy of an input, of a weight or of the
// packed form of one, which `index` counts (ExecutionPlan::inputs, ExecutionPlan::weights, ExecutionPlan::packed).
enum class Region { none, arena, input, weight, packed };
struct MemRef {
  Region region = Region::none;
  int32_t device = 0;  // of ExecutionPlan::devices
  int32_t index = 0;
  int64_t offset = 0;
  bool operator==(const MemRef&) const = default;
};

// Bytes of one storage at one version, taken from one device to another. A copy back writes the storage's own memory
// after a node ran on a copy of it; any other copy makes a further image of the bytes.
struct PlanCopy {
  Value value;                 // names storage and version
  int64_t begin = 0, end = 0;  // bytes of the storage
  MemRef from, to;             // of byte `begin`
  bool back = false;
  bool staged = false;  // through host memory: the devices cannot copy directly
};

// A kernel launch, or a copy (on the queue of its destination).
struct PlanStep {
  int32_t node = -1;   // of ExecutionPlan::graph; -1 for a copy
  int32_t device = 0;  // whose queue runs it
  int32_t copy = -1;   // of ExecutionPlan::copies; -1 for a kernel
  KernelPlan kernel;   // empty for a copy
  std::vector<MemRef> inputs;
  MemRef output;
  int64_t scratch_offset = 0;  // in the arena of `device`
};

// Steps [first, first + count) of one device, submitted together. It starts when its queue has done the segments
// before it and every segment of `waits` is done.
struct PlanSegment {
  int32_t device = 0;
  int32_t first = 0, count = 0;
  std::vector<int32_t> waits;  // earlier segments, of other queues
};

struct PlanPort {  // an input or an output of the whole graph
  std::string name;
  TensorDesc desc;
  MemRef memory;  // of an output; inputs lie at offset 0 of every device that `staged` names
};

// An input or weight that a device reads, brought there before the first step (weights once, inputs at every run).
struct PlanStaged {
  Region region = Region::input;
  int32_t device = 0, index = 0;
  bool operator==(const PlanStaged&) const = default;
};

// A constant operand in the layout that kernels of `device` asked for (KernelPlan::packed), made before the first step
// from its elements in host memory. Kernels that ask for the same layout of one operand share it.
struct PlanPacked {
  int32_t device = 0;
  int32_t weight = 0;  // of ExecutionPlan::weights
  int64_t offset = 0;  // bytes, of the operand's first element in the weight
  TensorDesc desc;     // of the operand
  int64_t bytes = 0;   // of the packed form
  std::string layout;
  bool operator==(const PlanPacked&) const = default;
};

struct PlanArena {                // the memory of one device
  int64_t bytes = 0;              // values and scratch
  int64_t scratch_bytes = 0;      // of these, at the end
  int64_t lower_bound_bytes = 0;  // the most value bytes live at once: no arena can be smaller
};

struct PassReport {
  std::string_view pass;
  double seconds = 0;
  int changes = 0;
};

struct ExecutionPlan {
  Graph graph;  // after all passes: what the steps' nodes refer to; Node::device and Node::moved are set
  std::vector<const Device*> devices;
  std::vector<PlanArena> arenas;  // one per device
  std::vector<PlanStep> steps;
  std::vector<PlanCopy> copies;
  std::vector<PlanSegment> segments;
  std::vector<PlanStaged> staged;  // of weights, those that some step reads as they are
  std::vector<PlanPacked> packed;
  std::vector<PlanPort> inputs, outputs;
  std::vector<TensorDataPtr> weights;  // MemRef::index counts these; weights and constants
  int64_t weight_bytes = 0;
  double flops = 0;
  std::vector<PassReport> passes;

  int64_t arena_bytes() const;        // of all devices
  int64_t lower_bound_bytes() const;  // likewise
  int64_t copied_bytes() const;       // by `copies`, per run
  std::string text() const;           // one line per step
};

// Which device runs what. Names are DeviceTraits::name; a module may name several devices (its layers are split by free
// memory). Nothing named: devices in their order.
struct Placement {
  std::map<std::string, std::vector<std::string>> modules;        // "te", "diffusion", "vae", "all"
  std::vector<std::pair<std::string, std::string>> weights = {};  // name (with * and ?) -> device; the first match wins
};

// How offsets in an arena are chosen: largest slot first at the lowest free offset, or in program order at the lowest
// or at the tightest gap.
enum class ArenaFit { greedy_by_size, first_fit, best_fit };

struct PlanOptions {
  bool fuse = true;   // rewrite norm+affine+activation, conv+bias+residual+activation, ...
  bool reuse = true;  // let results take the memory of operands that die (implicit in-place)
  Placement placement = {};
  ArenaFit arena = ArenaFit::greedy_by_size;
  // Where FP8 weights that are widened come from and are shared; null: made for this plan, in the system's memory.
  std::shared_ptr<WideWeights> wide_weights = {};
  std::vector<std::string> skip = {};  // passes, or rewrites of fuse (fuse_rewrites()), that are left out
  bool verify = true;                  // off in tests of what else stops a wrong plan
};

// The rewrites of the fuse pass, by the names that PlanOptions::skip takes: "fuse.norm", ...
std::span<const std::string_view> fuse_rewrites();

// Errors: unsupported where a node has no kernel and no decomposition on the devices, with every refusal and its
// values; usage for names in `options` that are no device, module or pass.
Result<std::shared_ptr<const ExecutionPlan>> make_plan(const Graph& graph, std::span<Device* const> devices,
                                                       const PlanOptions& options = {});

}  // namespace chiaro
