// The tensors of one model component, from one or several files, and what became of each.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "core/tensor.h"
#include "weights/gguf.h"
#include "weights/safetensors.h"
#include "weights/torch.h"

namespace chiaro {

// What loading left over. Names are the checkpoint's, sorted, except `missing` (the names that were asked for).
struct WeightReport {
  std::vector<std::string> unused;     // usable tensors that nothing took
  std::vector<std::string> missing;    // asked for, not there
  std::vector<std::string> misshaped;  // safe to print: ""x.weight" [320,4] where [320,8] is needed"
  std::vector<SkippedTensor> skipped;  // tensors of dtypes or ranks that are not usable
  std::vector<std::string> unscaled;   // FP8 or INT8 weights taken, their scale not: the picture would be wrong
  std::vector<std::string> orphans;    // scales whose weight is not there (in `unused` too)
  bool complete() const { return missing.empty() && misshaped.empty() && unscaled.empty(); }
  // A line for each kind that is not empty: how many, and the first five names. Empty where nothing was left over.
  std::string text() const;
};

// Whether both hold the same elements in the same order whatever dimensions of 1 there are.
bool same_up_to_ones(const Shape& a, const Shape& b);

// Copies and views (with_prefix, renamed) share tensors and the record of use with the map they come from, so the
// report of the first map covers all of them. Nothing is copied from the files.
// Thread rule: one thread at a time per group of maps that share.
class WeightMap {
 public:
  // Given the checkpoint's name, the model's name, or nothing to leave the tensor out of the view.
  using Rename = std::function<std::optional<std::string>(std::string_view name)>;
  // Given a name, the names of the equal parts that the tensor's first dimension is cut into; empty: left whole.
  using Split = std::function<std::vector<std::string>(std::string_view name)>;

  WeightMap();

  // Errors: bad_file where a name is there already (two shards that both hold it), naming both files; then nothing of
  // `file` was added.
  Status add(const SafetensorsFile& file);
  Status add(const GgufFile& file);
  Status add(const TorchFile& file);
  // `from` names the origin in messages.
  Status add(TensorDataPtr tensor, std::string_view from);

  size_t size() const;  // usable tensors of this view
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // nullptr where missing. Does not count as use. O(log n).
  TensorDataPtr find(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted, as this view names them
  // Tensors of this view that are not usable, as it names them, sorted.
  std::vector<SkippedTensor> skipped() const;

  // The tensors whose names begin with `prefix`, without it. Empty where there are none.
  WeightMap with_prefix(std::string_view prefix) const;
  // The tensors that `rename` keeps, under their new names. Errors: bad_file where two would get the same name.
  Result<WeightMap> renamed(const Rename& rename) const;
  // All tensors of this view, some as their parts: windows into the same bytes; using a part uses the whole. A tensor
  // of one element (a scale) serves each part. Errors: shape where the first dimension does not divide; bad_file where
  // two would get the same name.
  Result<WeightMap> split(const Split& parts_of) const;

  // The tensor `name`, marked as used. Its shape must be `shape`, up to ones ([O,I] serves where [O,I,1,1] is needed
  // and the other way round: a linear layer and a 1x1 convolution; [C] where [1,C] is: a token alone); the result has
  // exactly `shape`. Errors: bad_file where missing (or there but not usable: unsupported), shape where it differs;
  // both are recorded. Unsupported also for an INT8 weight without a scale: its integers are not its values.
  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) const;
  // As take, where a model works without it: nullptr where missing, and then nothing is recorded.
  Result<TensorDataPtr> take_optional(std::string_view name, const Shape& shape) const;
  // The scale of the FP8 or INT8 weight `name` ("x.weight"), spelled "x.scale_weight" or "x.weight_scale"; nullptr
  // where there is none or it is empty. Marked as used. Its shape is up to the caller (a scalar, or one per output
  // channel).
  TensorDataPtr take_scale(std::string_view name) const;
  // Marks as known and without effect, so that it is not reported as unused; false where missing.
  bool ignore(std::string_view name) const;

  // What is left over, over all the views that share with this map.
  WeightReport report() const;

 private:
  struct Entry;   // a tensor (or the reason why it is not usable) and its use
  struct Ledger;  // what the maps that share have in common
  using Named = std::pair<std::string, std::shared_ptr<Entry>>;
  explicit WeightMap(std::shared_ptr<Ledger> ledger) : ledger_(std::move(ledger)) {}
  Entry* entry(std::string_view name) const;
  Status insert(std::vector<std::shared_ptr<Entry>> added);
  Status add(std::span<const TensorDataPtr> tensors, std::span<const SkippedTensor> skipped, const std::string& from);
  Entry* usable(std::string_view name) const;
  Error missing_error(std::string_view name) const;
  Entry* scale_of(std::string_view name) const;
  Result<WeightMap> sorted(std::vector<Named> entries) const;
  std::string full_name(std::string_view name) const { return prefix_ + std::string(name); }

  std::shared_ptr<Ledger> ledger_;
  std::vector<Named> entries_;  // sorted by name
  std::string prefix_;          // what with_prefix took away, for messages
};

}  // namespace chiaro
