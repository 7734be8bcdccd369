// Plans for people and for tools: JSON, a picture, and the figures that both of them and the text show.
// (ExecutionPlan::text() is the third form.)
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace chiaro {

// The whole plan: devices, memory, segments, steps, copies, moved nodes, storages with their lives, ports and passes.
std::string plan_json(const ExecutionPlan& plan);

// An SVG of every device's arena over time, one lane per device: x = step, y = offset, a rectangle per storage, an
// arrow per copy between devices; hovering names what it is.
std::string plan_svg(const ExecutionPlan& plan);

// A storage in an arena, or what a copy brought of it, from the step that makes it to the last that looks at it (both
// included; the number of steps for what is an output).
struct StorageLife {
  int32_t device = 0;  // of ExecutionPlan::devices
  int32_t storage = -1;
  int64_t offset = 0, bytes = 0;
  int32_t first = 0, last = 0;
  bool image = false;           // made by a copy
  std::vector<int32_t> writes;  // steps that change it in place
};
std::vector<StorageLife> storage_lives(const ExecutionPlan& plan);  // in the order in which they are made

// What one device has to do and to hold.
struct DeviceUse {
  int kernels = 0, copies = 0, segments = 0;  // of its queue
  int64_t weight_bytes = 0, input_bytes = 0;  // staged for it; weights as they are and packed
};
std::vector<DeviceUse> device_uses(const ExecutionPlan& plan);

// The copies from one device to another, taken together.
struct LinkUse {
  int32_t from = 0, to = 0;  // of ExecutionPlan::devices
  int copies = 0, back = 0;  // of `copies`
  int64_t bytes = 0;
  bool staged = false;  // through host memory
};
std::vector<LinkUse> link_uses(const ExecutionPlan& plan);  // in the order of their first copy

// Nodes that were moved for the same reason to the same device, by op.
struct MovedNodes {
  std::string_view op, device;
  std::string why;
  std::vector<int32_t> nodes;
};
std::vector<MovedNodes> moved_nodes(const ExecutionPlan& plan);  // in the order of their first node
// "3 nodes moved to cpu: 3 group_norm (why); 1.50 MiB copied per run"; empty where none was. `run`: what a run of the
// plan is called.
std::string moved_sentence(const ExecutionPlan& plan, std::string_view run = "run");

std::string bytes_text(double bytes);  // "12 B", "1.50 KiB", "123.4 MiB"

}  // namespace chiaro
