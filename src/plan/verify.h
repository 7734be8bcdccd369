// verify: proves that a finished plan computes what its graph means, from the plan and the graph alone.
//
// It shares no code with the passes that made the plan. Thread rule: pure functions.
#pragma once

#include "graph/graph.h"
#include "plan/plan.h"

namespace chiaro {

// Replays the steps, tracking what every byte of memory holds, and proves that
//  1. every compute and in-place node has exactly one step, with a kernel of its op, on a device that may run it;
//  2. every operand, when it is read, finds its value: the right storage, byte by byte, at the right version, in
//     memory of the device that reads it;
//  3. an in-place node writes where its target lives, never on another copy;
//  4. a result shares bytes with an operand only by the op's alias contract; scratch shares bytes with nothing that is
//     read later; storages and scratch start at multiples of 64 bytes;
//  5. inputs and weights are never written;
//  6. the outputs hold their values at the end, and nothing lies outside the arena.
// Errors: internal, naming the node's label, the value and what was found in its place.
Status verify(const ExecutionPlan& plan);

// Whether a graph is well formed: values are defined before they are read, shapes are what the ops infer, views stay in
// their storage, and versions follow each other. Errors: internal, naming the node.
Status verify_graph(const Graph& graph);

}  // namespace chiaro
