// versions: makes the meaning of in-place ops explicit in program order.
//
// A value is (storage, version). A node that writes version k+1 may stand before a reader of version k: the old
// contents are then copied just before the write and the reader takes the copy. Memory of graph inputs belongs to the
// caller: an input that is written anywhere is copied first. An operand that overlaps the target is copied, too.
#include <algorithm>

#include "graph/after.h"
#include "ops/contiguous/op.h"
#include "plan/passes/passes.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

struct Range {
  int64_t begin, end;
};

Range bytes_of(const ValueInfo& info) {
  return {info.offset_bytes, info.offset_bytes + info.desc.span_bytes()};
}

bool overlap(const ValueInfo& a, const ValueInfo& b) {
  const Range ra = bytes_of(a), rb = bytes_of(b);
  return ra.begin < rb.end && rb.begin < ra.end;
}

// When the contents of each value are needed, in node indices (-1: never).
struct Reads {
  std::vector<int64_t> last;       // last read by a compute or in-place node; nodes().size() for graph outputs
  std::vector<int64_t> late_view;  // the last view node that starts from this value and is itself read
};

Reads find_reads(const Graph& graph) {
  const auto count = graph.values().size();
  Reads reads{std::vector<int64_t>(count, -1), std::vector<int64_t>(count, -1)};
  for (const GraphOutput& output : graph.outputs()) {
    reads.last[static_cast<size_t>(output.value.id)] = static_cast<int64_t>(graph.nodes().size());
  }
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    const auto now = static_cast<int64_t>(i);
    if (node.op->kind == OpKind::view) {
      const auto out = static_cast<size_t>(node.output.id);
      const auto base = static_cast<size_t>(node.inputs[0].id);
      const bool read = reads.last[out] >= 0 || reads.late_view[out] >= 0;
      // after(x, w) looks at the newest contents, whatever became of x's own version.
      if (read && node.op != &after_op()) reads.late_view[base] = std::max(reads.late_view[base], now);
      continue;
    }
    for (const Value v : node.inputs) {
      if (v.valid()) reads.last[static_cast<size_t>(v.id)] = std::max(reads.last[static_cast<size_t>(v.id)], now);
    }
  }
  return reads;
}

// Values (by storage) that are read somewhere, so that a write need not scan the whole graph.
std::vector<std::vector<int32_t>> values_by_storage(const Graph& graph) {
  std::vector<std::vector<int32_t>> lists(graph.storages().size());
  for (size_t i = 0; i < graph.values().size(); ++i) {
    lists[static_cast<size_t>(graph.values()[i].storage)].push_back(static_cast<int32_t>(i));
  }
  return lists;
}

class VersionsPass {
 public:
  VersionsPass(const Graph& graph, PassContext& context)
      : graph_(graph),
        context_(context),
        rewriter_(graph),
        reads_(find_reads(graph)),
        by_storage_(values_by_storage(graph)),
        in_place_(graph.values().size(), kNone),
        saved_(graph.values().size(), false) {}

  Result<Graph> run() {
    for (size_t i = 0; i < graph_.values().size(); ++i) {
      const Value v{static_cast<int32_t>(i)};
      if (graph_.info(v).producer >= 0) continue;
      const Storage& storage = graph_.storage_of(v);
      if (storage.kind == StorageKind::input && storage.latest_version > 0) {
        rewriter_.map(v, contiguous(rewriter_.builder(), rewriter_.mapped(v)));
        ++context_.changes;
      }
      in_place_[i] = rewriter_.mapped(v);
    }
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.op->kind == OpKind::inplace) save_overwritten(node, static_cast<int64_t>(i));
      if (node.op->kind == OpKind::view)
        emit_view(node);
      else
        emit_compute(node);
    }
    return rewriter_.finish();
  }

 private:
  void emit_compute(const Node& node) {
    std::vector<Value> inputs = rewriter_.mapped_inputs(node);
    // The target of a write is the memory itself, never a saved copy.
    if (node.op->kind == OpKind::inplace) {
      inputs[0] = memory_of(node.inputs[0]);
      detach_operands(node, inputs);
    }
    const Value out = rewriter_.emit(node, *node.op, node.attrs, std::move(inputs));
    rewriter_.map(node.output, out);
    in_place_[static_cast<size_t>(node.output.id)] = out;
  }

  // An operand that shares bytes with the target, otherwise than as the same view, is read whole before the write:
  // kernels may count on it.
  void detach_operands(const Node& node, std::vector<Value>& inputs) {
    const ValueInfo& target = graph_.info(node.inputs[0]);
    for (size_t i = 1; i < inputs.size(); ++i) {
      const Value v = node.inputs[i];
      if (!v.valid() || inputs[i] != memory_of(v)) continue;  // left out, or a saved copy already
      const ValueInfo& info = graph_.info(v);
      const bool same = info.offset_bytes == target.offset_bytes && info.desc == target.desc;
      if (info.storage != target.storage || same || !overlap(info, target)) continue;
      inputs[i] = rewriter_.emit(node, op_def_contiguous(), {}, {inputs[i]});
      ++context_.changes;
    }
  }

  // A view of a saved value has two faces: its contents lie in the copy, its place in the memory that went on.
  void emit_view(const Node& node) {
    std::vector<Value> memory;
    for (const Value v : node.inputs) memory.push_back(memory_of(v));
    const bool relates = node.op == &after_op();  // reads what the memory holds now, whatever became of x's version
    const std::vector<Value> contents = relates ? memory : rewriter_.mapped_inputs(node);
    const Value place = rewriter_.emit(node, *node.op, node.attrs, memory);
    in_place_[static_cast<size_t>(node.output.id)] = place;
    rewriter_.map(node.output, contents == memory ? place : rewriter_.emit(node, *node.op, node.attrs, contents));
  }

  Value memory_of(Value old) const { return in_place_[static_cast<size_t>(old.id)]; }

  void save_overwritten(const Node& node, int64_t now) {
    const ValueInfo& written = graph_.info(node.output);
    for (const int32_t id : by_storage_[static_cast<size_t>(written.storage)]) {
      const auto index = static_cast<size_t>(id);
      const ValueInfo& old = graph_.values()[index];
      const bool needed_later = reads_.last[index] > now || reads_.late_view[index] > now;
      if (!memory_of(Value{id}).valid() || saved_[index] || old.version >= written.version || !needed_later) continue;
      if (!overlap(old, written)) continue;
      rewriter_.map(Value{id}, rewriter_.emit(node, op_def_contiguous(), {}, {rewriter_.mapped(Value{id})}));
      saved_[index] = true;
      ++context_.changes;
    }
  }

  const Graph& graph_;
  PassContext& context_;
  Rewriter rewriter_;
  Reads reads_;
  std::vector<std::vector<int32_t>> by_storage_;
  std::vector<Value> in_place_;  // each old value's view of its own storage in the new graph
  std::vector<bool> saved_;      // already replaced by a copy
};

}  // namespace

Result<Graph> pass_versions(const Graph& graph, PassContext& context) {
  return VersionsPass(graph, context).run();
}

}  // namespace chiaro
