// Lookup by binary search over sorted names; the record of use is shared by all views.
#include "weights/weight_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/utf8_path.h"
#include "weights/printable.h"

namespace chiaro {

struct WeightMap::Entry {
  std::string name;      // the checkpoint's
  TensorDataPtr tensor;  // nullptr where not usable
  std::string reason;    // why not
  std::string from;      // the file, for messages
  bool used = false;
  std::shared_ptr<Entry> whole = nullptr;  // of a part: what it is a part of

  void use() {
    used = true;
    if (whole) whole->use();
  }
};

struct WeightMap::Ledger {
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> all;  // by the checkpoint's name
  std::set<std::string> files;
  std::set<std::string> missing;
  std::set<std::string> misshaped;

  std::string origin() const {
    if (files.empty()) return "no file";
    const std::string first = printable_path(*files.begin());
    return files.size() == 1 ? first : first + " and " + std::to_string(files.size() - 1) + " more";
  }
};

namespace {

// Of a dtype too narrow for weights as they are, so that files store them divided by a scale.
bool needs_scale(const TensorData& tensor) {
  const DType dtype = tensor.desc.dtype;
  return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2 || dtype == DType::i8;
}

// The two spellings of the name of a weight's scale.
std::vector<std::string> scale_names(std::string_view weight) {
  constexpr std::string_view kSuffix = ".weight";
  std::vector<std::string> names{std::string(weight) + "_scale"};
  if (weight.ends_with(kSuffix)) {
    names.push_back(std::string(weight.substr(0, weight.size() - kSuffix.size())) + ".scale_weight");
  }
  return names;
}

// The weight that a scale of this name belongs to; empty where it is no name of a scale.
std::string scaled_name(std::string_view scale) {
  constexpr std::string_view kAfter = "_scale", kBefore = ".scale_weight";
  if (scale.ends_with(".weight_scale") || scale.ends_with("_weight_scale")) {
    return std::string(scale.substr(0, scale.size() - kAfter.size()));
  }
  if (!scale.ends_with(kBefore)) return {};
  return std::string(scale.substr(0, scale.size() - kBefore.size())) + ".weight";
}

// `shown` holds texts that are safe to print.
void append_line(std::string& text, const std::vector<std::string>& shown, std::string_view what) {
  constexpr size_t kLimit = 5;
  if (shown.empty()) return;
  if (!text.empty()) text += "\n";
  text += std::to_string(shown.size()) + " " + std::string(what) + (shown.size() == 1 ? ": " : "s: ");
  for (size_t i = 0; i < shown.size() && i < kLimit; ++i) text += (i > 0 ? ", " : "") + shown[i];
  if (shown.size() > kLimit) text += " and " + std::to_string(shown.size() - kLimit) + " more";
}

// Part `i` of `count` along the first dimension, which they divide.
TensorDataPtr row_part(const TensorData& whole, int64_t i, int64_t count) {
  auto part = std::make_shared<TensorData>(whole);
  Shape shape = whole.desc.shape;
  shape[0] /= count;
  part->desc = dense(whole.desc.dtype, shape);
  if (whole.bytes != nullptr) part->bytes = whole.bytes + i * part->desc.dense_bytes();
  return part;
}

std::vector<std::string> all_printable(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(printable(name));
  return shown;
}

}  // namespace

std::string WeightReport::text() const {
  std::string lines;
  append_line(lines, all_printable(missing), "missing tensor");
  append_line(lines, misshaped, "wrongly shaped tensor");
  append_line(lines, all_printable(unscaled), "FP8 or INT8 tensor used without its scale");
  append_line(lines, all_printable(orphans), "scale without its weight");
  append_line(lines, all_printable(unused), "unused tensor");
  std::vector<std::string> reasons;
  for (const SkippedTensor& s : skipped) reasons.push_back(printable(s.name) + " (" + s.reason + ")");
  append_line(lines, reasons, "unusable tensor");
  return lines;
}

bool same_up_to_ones(const Shape& a, const Shape& b) {
  const auto past_ones = [](const Shape& s, int d) {
    while (d < s.rank() && s[d] == 1) ++d;
    return d;
  };
  int i = past_ones(a, 0), j = past_ones(b, 0);
  while (i < a.rank() && j < b.rank() && a[i] == b[j]) {
    i = past_ones(a, i + 1);
    j = past_ones(b, j + 1);
  }
  return i == a.rank() && j == b.rank();
}

WeightMap::WeightMap() : ledger_(std::make_shared<Ledger>()) {}

Status WeightMap::insert(std::vector<std::shared_ptr<Entry>> added) {
  for (const std::shared_ptr<Entry>& e : added) {
    const auto at = ledger_->all.find(e->name);
    if (at == ledger_->all.end()) continue;
    return Error{ErrorCode::bad_file, "tensor " + printable(e->name) + " is there twice",
                 "both " + printable_path(at->second->from) + " and " + printable_path(e->from) + " hold it",
                 "keep the files of one model only in the folder", printable_path(e->from)};
  }
  for (std::shared_ptr<Entry>& e : added) {
    ledger_->files.insert(e->from);
    ledger_->all.emplace(e->name, e);
    entries_.emplace_back(e->name, std::move(e));
  }
  std::sort(entries_.begin(), entries_.end(), [](const Named& a, const Named& b) { return a.first < b.first; });
  return {};
}

Status WeightMap::add(std::span<const TensorDataPtr> tensors, std::span<const SkippedTensor> skipped,
                      const std::string& from) {
  std::vector<std::shared_ptr<Entry>> added;
  for (const TensorDataPtr& tensor : tensors) {
    added.push_back(std::make_shared<Entry>(Entry{tensor->name, tensor, "", from}));
  }
  for (const SkippedTensor& s : skipped) {
    added.push_back(std::make_shared<Entry>(Entry{s.name, nullptr, s.reason, from}));
  }
  return insert(std::move(added));
}

Status WeightMap::add(const SafetensorsFile& file) {
  return add(file.tensors(), file.skipped(), path_to_utf8(file.path()));
}

Status WeightMap::add(const GgufFile& file) {
  return add(file.tensors(), file.skipped(), path_to_utf8(file.path()));
}

Status WeightMap::add(const TorchFile& file) {
  return add(file.tensors(), file.skipped(), path_to_utf8(file.path()));
}

Status WeightMap::add(TensorDataPtr tensor, std::string_view from) {
  std::string name = tensor->name;
  return insert({std::make_shared<Entry>(Entry{std::move(name), std::move(tensor), "", std::string(from)})});
}

WeightMap::Entry* WeightMap::entry(std::string_view name) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Named& a, std::string_view n) { return a.first < n; });
  return at != entries_.end() && at->first == name ? at->second.get() : nullptr;
}

WeightMap::Entry* WeightMap::usable(std::string_view name) const {
  Entry* found = entry(name);
  return found != nullptr && found->tensor != nullptr ? found : nullptr;
}

size_t WeightMap::size() const {
  return static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Named& n) { return n.second->tensor != nullptr; }));
}

TensorDataPtr WeightMap::find(std::string_view name) const {
  const Entry* found = entry(name);
  return found == nullptr ? nullptr : found->tensor;
}

std::vector<std::string> WeightMap::names() const {
  std::vector<std::string> all;
  for (const Named& named : entries_) {
    if (named.second->tensor != nullptr) all.push_back(named.first);
  }
  return all;
}

std::vector<SkippedTensor> WeightMap::skipped() const {
  std::vector<SkippedTensor> all;
  for (const Named& named : entries_) {
    if (named.second->tensor == nullptr) all.push_back({named.first, named.second->reason});
  }
  return all;
}

WeightMap WeightMap::with_prefix(std::string_view prefix) const {
  WeightMap view(ledger_);
  view.prefix_ = prefix_ + std::string(prefix);
  auto at = std::lower_bound(entries_.begin(), entries_.end(), prefix,
                             [](const Named& a, std::string_view p) { return a.first < p; });
  for (; at != entries_.end() && at->first.starts_with(prefix); ++at) {
    view.entries_.emplace_back(at->first.substr(prefix.size()), at->second);
  }
  return view;
}

Result<WeightMap> WeightMap::renamed(const Rename& rename) const {
  WeightMap view(ledger_);
  for (const Named& named : entries_) {
    if (std::optional<std::string> name = rename(named.first))
      view.entries_.emplace_back(std::move(*name), named.second);
  }
  return sorted(std::move(view.entries_));
}

Result<WeightMap> WeightMap::split(const Split& parts_of) const {
  std::vector<Named> entries;
  for (const Named& named : entries_) {
    const std::vector<std::string> names = parts_of(named.first);
    if (names.empty()) {
      entries.push_back(named);
      continue;
    }
    const auto count = static_cast<int64_t>(names.size());
    const TensorDataPtr& whole = named.second->tensor;
    const bool shared = whole == nullptr || whole->desc.count() <= 1;
    if (!shared && (whole->desc.shape.rank() == 0 || whole->desc.shape[0] % count != 0)) {
      return Error{ErrorCode::shape, "tensor " + printable(named.second->name) + " cannot be cut into parts",
                   "it is " + whole->desc.shape.text() + "; its rows should be a multiple of " + std::to_string(count),
                   "use another copy of the model", printable_path(named.second->from)};
    }
    for (int64_t i = 0; i < count; ++i) {
      auto part = std::make_shared<Entry>(*named.second);
      part->whole = named.second;
      if (!shared) part->tensor = row_part(*whole, i, count);
      entries.emplace_back(names[static_cast<size_t>(i)], std::move(part));
    }
  }
  CHIARO_ASSIGN(WeightMap view, sorted(std::move(entries)));
  view.prefix_ = prefix_;
  return view;
}

// A view of `entries`, whose names must differ.
Result<WeightMap> WeightMap::sorted(std::vector<Named> entries) const {
  WeightMap view(ledger_);
  view.entries_ = std::move(entries);
  std::sort(view.entries_.begin(), view.entries_.end(), [](const Named& a, const Named& b) {
    return std::tie(a.first, a.second->name) < std::tie(b.first, b.second->name);
  });
  const auto twice = std::adjacent_find(view.entries_.begin(), view.entries_.end(),
                                        [](const Named& a, const Named& b) { return a.first == b.first; });
  if (twice == view.entries_.end()) return view;
  return Error{ErrorCode::bad_file, "two tensors stand for " + printable(twice->first),
               printable(twice->second->name) + " and " + printable((twice + 1)->second->name),
               "the file mixes two namings of one model: use another copy of it", printable_path(twice->second->from)};
}

Error WeightMap::missing_error(std::string_view name) const {
  const std::string full = full_name(name);
  if (const Entry* there = entry(name)) {
    return {ErrorCode::unsupported, "tensor " + printable(there->name) + " is needed but not usable", there->reason,
            "use a copy of the model in F32, F16 or BF16", printable_path(there->from)};
  }
  return {ErrorCode::bad_file, "tensor " + printable(full) + " is missing",
          "the model needs it and none of the " + std::to_string(size()) + " tensors here has that name",
          "check that the file is complete and of the kind of model that its configuration says", ledger_->origin()};
}

Result<TensorDataPtr> WeightMap::take(std::string_view name, const Shape& shape) const {
  if (usable(name) != nullptr) return take_optional(name, shape);
  ledger_->missing.insert(full_name(name));
  return missing_error(name);
}

Result<TensorDataPtr> WeightMap::take_optional(std::string_view name, const Shape& shape) const {
  Entry* found = entry(name);
  if (found == nullptr) return TensorDataPtr();
  // A bias of a dtype that is not usable is not a missing bias.
  if (found->tensor == nullptr) return missing_error(name);
  const TensorData& tensor = *found->tensor;
  if (const Entry* scale = scale_of(name);
      tensor.desc.dtype == DType::i8 && (scale == nullptr || scale->tensor->desc.count() == 0)) {
    return Error{ErrorCode::unsupported, "the INT8 tensor " + printable(tensor.name) + " has no scale",
                 "its integers are its values divided by one", "use another copy of the model",
                 printable_path(found->from)};
  }
  found->use();
  if (tensor.desc.shape == shape) return found->tensor;
  if (!same_up_to_ones(tensor.desc.shape, shape)) {
    const std::string is = tensor.desc.shape.text(), needed = shape.text();
    ledger_->misshaped.insert(printable(tensor.name) + " " + is + " where " + needed + " is needed");
    return Error{ErrorCode::shape, "tensor " + printable(tensor.name) + " has the wrong shape",
                 "it is " + is + " where the model needs " + needed,
                 "check that the weights and the configuration belong to the same model", printable_path(found->from)};
  }
  auto reshaped = std::make_shared<TensorData>(tensor);
  reshaped->desc = dense(tensor.desc.dtype, shape);
  return TensorDataPtr(std::move(reshaped));
}

WeightMap::Entry* WeightMap::scale_of(std::string_view name) const {
  for (const std::string& scale : scale_names(name)) {
    if (Entry* found = usable(scale)) return found;
  }
  return nullptr;
}

TensorDataPtr WeightMap::take_scale(std::string_view name) const {
  Entry* found = scale_of(name);
  if (found == nullptr) return nullptr;
  found->use();
  return found->tensor->desc.count() == 0 ? nullptr : found->tensor;
}

bool WeightMap::ignore(std::string_view name) const {
  Entry* found = entry(name);
  if (found != nullptr) found->use();
  return found != nullptr;
}

WeightReport WeightMap::report() const {
  const auto& all = ledger_->all;
  WeightReport report;
  for (const auto& [name, e] : all) {
    // An ignored tensor that is not usable troubles nobody.
    if (e->tensor == nullptr && !e->used) report.skipped.push_back({name, e->reason});
    if (e->tensor == nullptr) continue;
    if (!e->used) report.unused.push_back(name);
    const std::string scaled = scaled_name(name);
    if (!e->used && !scaled.empty() && all.find(scaled) == all.end()) report.orphans.push_back(name);
    if (!e->used || !needs_scale(*e->tensor)) continue;
    const auto names = scale_names(name);
    const bool unread = std::any_of(names.begin(), names.end(), [&](const std::string& scale) {
      const auto at = all.find(scale);
      return at != all.end() && !at->second->used && (!at->second->tensor || at->second->tensor->desc.count() > 0);
    });
    if (unread) report.unscaled.push_back(name);
  }
  report.missing.assign(ledger_->missing.begin(), ledger_->missing.end());
  report.misshaped.assign(ledger_->misshaped.begin(), ledger_->misshaped.end());
  return report;
}

}  // namespace chiaro
