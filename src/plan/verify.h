// verify: proves that a finished plan computes what its graph means, from the plan and the graph alone.
//
// It shares no code with the passes that made the plan. Thread rule: pure functions.
#pragma once

#include "graph/graph.h"
#include "plan/plan.h"

namespace chiaro {

// Replays the steps, tracking what every byte of every arena holds, and proves seven points:
//  1. Every compute and in-place node has exactly one step, and its kernel plan was made for exactly that node's op,
//     attributes, dtypes, shapes, strides and alignments on the device of the step.
//  2. Every operand, when it is read, finds its value: the right storage, byte by byte, at the right version, in memory
//     that the device of the step addresses by declaration: where the storage lives, or in an image that a copy made
//     after the last write. Inputs and weights were brought there. An operand that the kernel asked for in a layout of
//     its own is read in that form, made from exactly that operand, and no other operand is. The outputs hold their
//     values at the end.
//  3. An in-place node writes where its target lives, or on an image there from which the result is copied back before
//     anyone else needs it; never on a stray copy.
//  4. Results, images and scratch lie within the arena and at the alignment that kernels were promised; a result shares
//     bytes with an operand only by the op's alias contract, scratch shares bytes with nothing that is read later;
//     inputs and weights are never written.
//  5. Any two steps of different queues that touch a byte of one arena, at least one of them writing, are ordered by
//  the
//     waits between segments. So every order that the queues may run in gives what the replay in list order gives.
//  6. A node pinned to a device of the plan runs there, and every step where the graph says that its node was placed.
//  7. Where one device runs all nodes there is one segment and no copy.
// Errors: internal, naming the point, the node's label, the value and what was found in its place.
Status verify(const ExecutionPlan& plan);

// Whether a graph is well formed: values are defined before they are read, shapes are what the ops infer, views stay in
// their storage, and versions follow each other. Errors: internal, naming the node.
Status verify_graph(const Graph& graph);

}  // namespace chiaro
