#include "nn/weights_view.h"

#include <memory>
#include <utility>

namespace chiaro::nn {

Path Path::operator[](std::string_view name) const {
  Path inner = *this;
  inner.prefix_ += name;
  inner.prefix_ += '.';
  if (!inner.label_.empty()) inner.label_ += '.';
  inner.label_ += name;
  return inner;
}

Value Layer::weight(std::string_view name, const Shape& shape) const {
  if (graph().failed()) return kNone;
  auto data = at_.source_->take(at_.prefix_ + std::string(name), shape);
  if (!data.ok()) return graph().fail(std::move(data).error());
  return graph().weight(std::move(data).value());
}

Value Layer::scale(std::string_view name, int64_t channels) const {
  if (graph().failed()) return kNone;
  const TensorDataPtr data = at_.source_->take_scale(at_.prefix_ + std::string(name));
  if (data == nullptr) return kNone;
  const int64_t count = data->desc.count();
  if (!is_float(data->desc.dtype) || (count != 1 && count != channels)) {
    return refuse("the scale of \"" + at_.prefix_ + std::string(name) + "\"",
                  "it is " + data->desc.text() + "; one number or " + std::to_string(channels) + " are needed",
                  "use another copy of the model");
  }
  auto flat = std::make_shared<TensorData>(*data);
  flat->desc = dense(data->desc.dtype, {count});
  return graph().weight(std::move(flat));
}

Value Layer::refuse(std::string what, std::string why, std::string mend) const {
  return graph().fail({ErrorCode::unsupported, std::move(what), std::move(why), std::move(mend), ""});
}

}  // namespace chiaro::nn
