#include "ops/conformance/variants.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/block_formats.h"
#include "ops/conformance/reference_eval.h"

namespace chiaro {
namespace {

constexpr DType kActivations[] = {DType::f32, DType::f16, DType::bf16};
constexpr DType kWeights[] = {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8};

// Strides of `shape` in a block whose dimensions lie in memory in the order `order`, outermost first.
Strides strides_in_order(const Shape& shape, const Dims& order) {
  Strides strides = Dims::filled(shape.rank(), 1);
  int64_t step = 1;
  for (int i = order.rank() - 1; i >= 0; --i) {
    strides[static_cast<int>(order[i])] = step;
    step *= shape[static_cast<int>(order[i])];
  }
  return strides;
}

// The window of `shape` in a block that is larger along every dimension.
void slice(VariantInput& in, const Shape& shape) {
  Shape block = shape;
  for (int d = 0; d < shape.rank(); ++d) block[d] += d == shape.rank() - 1 ? 3 : 1;
  in.desc.strides = contiguous_strides(block);
  in.elements = element_count(block);
  in.offset = 1;
}

// Sets strides, offset and block size for `layout`; false where the shape has no such layout.
bool place(VariantInput& in, Layout layout, int batch_dim) {
  const Shape shape = in.desc.shape;
  const int rank = shape.rank();
  in.layout = layout;
  in.desc.strides = contiguous_strides(shape);
  in.elements = std::max<int64_t>(in.desc.count(), 1);
  in.offset = 0;
  in.broadcast_dim = -1;
  Dims order;
  switch (layout) {
    case Layout::contiguous: return true;
    case Layout::misaligned:
      in.offset = 1;
      in.elements += 1;
      return true;
    case Layout::sliced:
      if (rank > 0) slice(in, shape);
      return rank > 0;
    case Layout::permuted:
    case Layout::rotated:
      if (rank < (layout == Layout::permuted ? 2 : 3)) return false;
      for (int d = 0; d < rank; ++d) order.push_back(layout == Layout::permuted ? rank - 1 - d : (d + rank - 1) % rank);
      in.desc.strides = strides_in_order(shape, order);
      return true;
    case Layout::stepped: {
      if (rank == 0) return false;
      Shape block = shape;
      block[-1] *= 2;
      in.desc.strides = contiguous_strides(block);
      in.desc.strides[-1] = 2;
      in.elements = element_count(block);
      return true;
    }
    case Layout::stretched: {
      int dim = batch_dim >= 0 && shape[batch_dim] > 1 ? batch_dim : -1;
      for (int d = 0; d < rank && dim < 0; ++d) {
        if (shape[d] > 1) dim = d;
      }
      if (dim < 0) return false;
      Shape block = shape;
      block[dim] = 1;
      in.desc.strides = contiguous_strides(block);
      in.desc.strides[dim] = 0;
      in.elements = element_count(block);
      in.broadcast_dim = dim;
      return true;
    }
  }
  return false;
}

// Block types are dense only.
void place_blocks(VariantInput& in) {
  in.desc = dense(in.desc.dtype, in.desc.shape);
  in.elements = in.desc.count() / traits(in.desc.dtype).block_elements;
}

// All inputs contiguous: activations as `dtype`, weights as `weight`.
Variant base(const Case& source, int index, DType dtype, DType weight, int batch) {
  Variant v;
  v.source = &source;
  v.case_index = index;
  v.batch = batch;
  if (source.op->kind == OpKind::inplace) v.overwrite = 0;
  for (const CaseInput& input : source.inputs) {
    VariantInput in;
    in.present = input.present;
    in.desc = dense(input.dtype ? *input.dtype : (input.weight ? weight : dtype), input.shape);
    if (batch > 0 && input.batch_dim >= 0) in.desc.shape[input.batch_dim] = batch;
    if (is_block(in.desc.dtype)) {
      place_blocks(in);
    } else {
      place(in, Layout::contiguous, input.batch_dim);
    }
    v.inputs.push_back(in);
  }
  return v;
}

// Applies `layout` to input i. In-place targets cannot be broadcast.
bool lay(Variant& v, size_t i, Layout layout) {
  const CaseInput& input = v.source->inputs[i];
  if (!input.present || input.fixed_layout || is_block(v.inputs[i].desc.dtype)) return false;
  if (layout == Layout::stretched && static_cast<int>(i) == v.overwrite) return false;
  return place(v.inputs[i], layout, input.batch_dim);
}

class Expansion {
 public:
  Expansion(const Case& source, int index) : source_(source), index_(index) {
    for (const CaseInput& input : source.inputs) {
      if (input.present && input.batch_dim >= 0) natural_ = static_cast<int>(input.shape[input.batch_dim]);
    }
  }

  std::vector<Variant> all() {
    for (const DType dtype : kActivations) {
      add(base(source_, index_, dtype, dtype, natural_));
      if (natural_ > 0) {
        for (const int batch : {1, 2, 3}) add(base(source_, index_, dtype, dtype, batch));
      }
      add_layouts(base(source_, index_, dtype, dtype, natural_));
      add_overwrite(base(source_, index_, dtype, dtype, natural_));
    }
    for (const DType dtype : {DType::f32, DType::f16}) {
      for (const DType weight : kWeights) add(base(source_, index_, dtype, weight, natural_));
    }
    return std::move(variants_);
  }

 private:
  void add(Variant v) {
    if (seen_.insert(v.text()).second) variants_.push_back(std::move(v));
  }

  void add_layouts(const Variant& plain) {
    for (const Layout layout : kLayouts) {
      Variant together = plain;
      int laid = 0;
      for (size_t i = 0; i < plain.inputs.size(); ++i) {
        Variant one = plain;
        if (lay(one, i, layout)) add(std::move(one));
        if (lay(together, i, layout)) {
          ++laid;
        } else {
          lay(together, i, Layout::contiguous);
        }
      }
      if (laid > 1) add(std::move(together));
    }
  }

  // The result over input 0 or whichever the op's contract names, where the memory is the same.
  void add_overwrite(Variant plain) {
    const int target = source_.op->alias.may_overwrite;
    if (source_.op->kind != OpKind::compute || target < 0) return;
    const auto out = plain.infer();
    if (!out.ok() || static_cast<size_t>(target) >= plain.inputs.size()) return;
    if (!plain.inputs[static_cast<size_t>(target)].present) return;
    if (!(plain.inputs[static_cast<size_t>(target)].desc == *out)) return;
    plain.overwrite = target;
    add(plain);
    for (size_t i = 0; i < plain.inputs.size(); ++i) {
      Variant one = plain;
      if (static_cast<int>(i) != target && lay(one, i, Layout::sliced)) add(std::move(one));
    }
  }

  const Case& source_;
  int index_;
  int natural_ = 0;
  std::set<std::string> seen_;
  std::vector<Variant> variants_;
};

uint64_t mixed(uint64_t x) {  // SplitMix64 (Steele, Lea and Flood 2014)
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// `along`: how far along the input's ramp, 0 to 1.
double drawn(const CaseInput& input, DType dtype, uint64_t counter, double along) {
  const double u = static_cast<double>(mixed(counter) >> 11) * 0x1p-53;
  if (input.integer) return std::min(std::floor(input.low + u * (input.high - input.low + 1)), input.high);
  if (dtype == DType::i8 || dtype == DType::i32) return std::floor(u * 17) - 8;
  const double value = input.low + u * (input.high - input.low) + along * input.ramp;
  return is_block(dtype) ? value : rounded_to(dtype, value);
}

}  // namespace

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::contiguous: return "contiguous";
    case Layout::permuted: return "permuted";
    case Layout::rotated: return "rotated";
    case Layout::sliced: return "sliced";
    case Layout::stepped: return "stepped";
    case Layout::stretched: return "stretched";
    case Layout::misaligned: return "misaligned";
  }
  return "?";
}

std::vector<TensorDesc> Variant::descs() const {
  std::vector<TensorDesc> all;
  for (const VariantInput& in : inputs) all.push_back(in.desc);
  return all;
}

bool Variant::all_contiguous() const {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const VariantInput& in) { return !in.present || in.layout == Layout::contiguous; });
}

Result<TensorDesc> Variant::infer() const {
  std::vector<const TensorDesc*> pointers;
  for (const VariantInput& in : inputs) pointers.push_back(in.present ? &in.desc : nullptr);
  while (pointers.size() < source->op->inputs.size() && !source->op->variadic) pointers.push_back(nullptr);
  if (source->op->kind != OpKind::view) return source->op->infer(source->attrs, pointers);
  CHIARO_ASSIGN(const ViewResult view, source->op->view(source->attrs, pointers));
  return view.desc;
}

std::string Variant::text() const {
  const OpDef& op = *source->op;
  std::string s = std::string(op.name) + " {";
  for (const auto& [name, value] : source->attrs) {
    if (s.back() != '{') s += ", ";
    s += name + "=" + attr_text(value);
  }
  s += "}";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t spec = std::min(i, op.inputs.size() - 1);
    s += (i == 0 ? " " : ", ") + std::string(op.inputs[spec].name);
    if (!inputs[i].present) {
      s += " -";
      continue;
    }
    s += " " + std::string(dtype_name(inputs[i].desc.dtype)) + inputs[i].desc.shape.text();
    if (inputs[i].layout != Layout::contiguous) s += " " + std::string(layout_name(inputs[i].layout));
  }
  if (batch > 0) s += ", batch " + std::to_string(batch);
  if (first > 0) s += " from " + std::to_string(first);
  if (overwrite >= 0 && op.kind != OpKind::inplace) s += ", over input " + std::to_string(overwrite);
  return s + (source->note.empty() ? "" : " (" + source->note + ")");
}

std::vector<Variant> expand(const Case& source, int index) {
  return Expansion(source, index).all();
}

Variant with_pictures(const Variant& v, int first, int count) {
  Variant out = v;
  out.first = first;
  out.batch = count;
  for (size_t i = 0; i < v.inputs.size(); ++i) {
    const CaseInput& input = v.source->inputs[i];
    if (!input.present || input.batch_dim < 0) continue;
    VariantInput& in = out.inputs[i];
    in.desc.shape[input.batch_dim] = count;
    if (is_block(in.desc.dtype)) {
      place_blocks(in);
    } else if (!place(in, in.layout, input.batch_dim)) {
      place(in, Layout::contiguous, input.batch_dim);
    }
  }
  return out;
}

namespace {

// As variant_values, but of a block type the values before they are put into blocks.
std::vector<double> drawn_values(const Variant& v, size_t input) {
  const CaseInput& spec = v.source->inputs[input];
  const VariantInput& in = v.inputs[input];
  const int rank = in.desc.rank(), batch_dim = v.batch > 0 ? spec.batch_dim : -1;
  // Where an element's number counts: its picture apart, broadcast dimensions not at all.
  Shape picture = in.desc.shape;
  if (batch_dim >= 0) picture[batch_dim] = 1;
  const uint64_t seed = mixed(static_cast<uint64_t>(v.case_index) * 64 + input);
  std::vector<double> values(static_cast<size_t>(in.desc.count()));
  const Strides dense_strides = contiguous_strides(in.desc.shape), weights = contiguous_strides(picture);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t number = 0, which = 0;
    double along = 0;
    for (int d = 0; d < rank; ++d) {
      const int64_t at = d == in.broadcast_dim ? 0 : static_cast<int64_t>(i) / dense_strides[d] % in.desc.shape[d];
      if (d == 1 && in.desc.shape[d] > 1) along = static_cast<double>(at) / static_cast<double>(in.desc.shape[d] - 1);
      if (d == batch_dim) {
        which = at + v.first;
      } else {
        number += at * weights[d];
      }
    }
    const uint64_t counter = mixed(seed + static_cast<uint64_t>(which) * 0x10001) + static_cast<uint64_t>(number);
    values[i] = drawn(spec, in.desc.dtype, counter, along);
  }
  return values;
}

}  // namespace

std::vector<double> variant_values(const Variant& v, size_t input) {
  const TensorDesc& desc = v.inputs[input].desc;
  if (!is_block(desc.dtype)) return drawn_values(v, input);
  std::vector<float> decoded(static_cast<size_t>(desc.count()));
  decode_blocks(desc.dtype, variant_blocks(v, input).data(), 0, desc.count(), decoded.data());
  return {decoded.begin(), decoded.end()};
}

std::vector<std::byte> variant_blocks(const Variant& v, size_t input) {
  const TensorDesc& desc = v.inputs[input].desc;
  const std::vector<double> values = drawn_values(v, input);
  std::vector<float> plain(values.begin(), values.end());
  // Encoding searches for scales, and all variants of a case have the same weight: the last one is kept.
  struct Encoded {
    DType dtype = DType::f32;
    std::vector<float> plain;
    std::vector<std::byte> blocks;
  };
  thread_local Encoded last;
  if (last.dtype != desc.dtype || last.plain != plain) {
    last = {desc.dtype, std::move(plain), std::vector<std::byte>(static_cast<size_t>(desc.dense_bytes()))};
    encode_blocks(desc.dtype, last.plain.data(), desc.count(), last.blocks.data());
  }
  return last.blocks;
}

}  // namespace chiaro
