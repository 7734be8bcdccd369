#include <exception>

#include "core/tensor.h"
#include "ops/custom/op.h"

namespace chiaro {
namespace {

// What a user's function throws becomes a value here: no exception leaves a room.
template <class T, class F>
Result<T> guarded(const std::string& name, F&& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    return Error{ErrorCode::internal, "the host function \"" + name + "\" threw", e.what(), "", ""};
  } catch (...) {
    return Error{ErrorCode::internal, "the host function \"" + name + "\" threw", "not a std::exception", "", ""};
  }
}

}  // namespace

Result<TensorDesc> Custom::infer(const Attrs& attrs, InputDescs in) {
  if (attrs.fn == nullptr || !attrs.fn->infer || !attrs.fn->run) {
    return op_error(name, "a call without a function", "fn, its infer and its run must be set");
  }
  std::vector<TensorDesc> descs;
  for (const TensorDesc* d : in) {
    if (d == nullptr) return op_error(name, "an input left out", "\"" + attrs.fn->name + "\" takes all its inputs");
    descs.push_back(*d);
  }
  CHIARO_ASSIGN(TensorDesc out, guarded<TensorDesc>(attrs.fn->name, [&] { return attrs.fn->infer(descs); }));
  if (!out.contiguous() || is_block(out.dtype)) {
    return op_error(name, out.text(), "\"" + attrs.fn->name + "\" must declare a dense result of a plain dtype");
  }
  return dense(out.dtype, out.shape);
}

Cost Custom::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {0, minimum_bytes(in, out)};
}

Status Custom::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  std::vector<std::vector<float>> data;
  std::vector<TensorDesc> descs;
  for (const RefTensor& x : in) {
    data.emplace_back(x.data.begin(), x.data.end());
    descs.push_back(dense(DType::f32, x.shape));
  }
  std::vector<HostTensor> tensors;
  for (size_t i = 0; i < in.size(); ++i) {
    tensors.push_back({descs[i], reinterpret_cast<std::byte*>(data[i].data())});
  }
  CHIARO_ASSIGN(const TensorDesc desc, guarded<TensorDesc>(attrs.fn->name, [&] { return attrs.fn->infer(descs); }));
  if (!(desc.shape == out.shape)) return op_error(name, desc.text(), "its shape depends on the dtypes of its inputs");
  std::vector<std::byte> bytes(static_cast<size_t>(desc.dense_bytes()));
  CHIARO_TRY(guarded<void>(attrs.fn->name, [&] { return attrs.fn->run(tensors, {desc, bytes.data()}); }));
  for (size_t i = 0; i < out.data.size(); ++i) {
    out.data[i] = load_element(desc.dtype, bytes.data(), static_cast<int64_t>(i));
  }
  return {};
}

const OpDef& op_def_custom() {
  return op_def<Custom>();
}

}  // namespace chiaro
