// What place, own and fuse ask of nodes and devices.
#pragma once

#include <vector>

#include "plan/passes/passes.h"

namespace chiaro {

// Where each node would run by its pin, its weights or its module (in that order), as an index of context.devices; -1
// where nothing says. Views have -1. Errors: usage for a pin, module or weight placement that names no device.
Result<std::vector<int32_t>> preferred_devices(const Graph& graph, const PassContext& context);

// Whether `device` can run the node: as it is, with contiguous copies of its inputs, or decomposed. Errors:
// unsupported, with the refusals.
Status fits(const Device& device, const Graph& graph, const Node& node);

// The index of the device whose memory holds each storage (-1: inputs, weights and constants, which every device that
// reads them gets), by the devices of the nodes that make them.
std::vector<int32_t> storage_owners(const Graph& graph, const PassContext& context);

}  // namespace chiaro
