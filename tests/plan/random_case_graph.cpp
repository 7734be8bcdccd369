// Graphs for planners of several devices, as models and users write them.
#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "graph/builder.h"
#include "graph/host_functions.h"
#include "ops/all.h"
#include "random_case.h"

namespace chiaro::testing {
namespace {

constexpr int64_t kMostElements = 512;  // of one value

class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed) : random_(seed) {}

  Graph run() {
    constexpr std::array kShapes{Shape3{2, 3, 4}, Shape3{1, 3, 4}, Shape3{3, 2, 8}};
    const Shape3 s = kShapes[index(kShapes.size())];
    base_ = Shape{s[0], s[1], 2, s[2]};
    if (one_in(3)) base_ = Shape{s[0] * s[1], s[2]};
    if (one_in(5)) types_ = {DType::f32, DType::f16, DType::bf16};
    const int inputs = 1 + below(3), steps = 3 + below(30);
    for (int i = 0; i < inputs; ++i) keep(g_.input("x" + std::to_string(i), dense(any_type(), base_)));
    for (int i = 0; i < steps; ++i) {
      if (one_in(6)) g_.set_module(pick<std::string>({"te", "diffusion", "vae", ""}));
      const GraphBuilder::Scope layer(g_, "layer" + std::to_string(i / 4));
      const GraphBuilder::Scope inner(g_, std::to_string(i % 4));
      step();
    }
    const int outputs = 1 + below(3);
    for (int i = 0; i < outputs; ++i) g_.output("y" + std::to_string(i), any());  // old versions among them
    g_.output("last", values_.back());
    return g_.finish().value();
  }

 private:
  using Shape3 = std::array<int64_t, 3>;

  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  size_t index(size_t n) { return static_cast<size_t>(random_() % n); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + static_cast<std::ptrdiff_t>(index(of.size())));
  }
  DType any_type() { return one_in(2) ? DType::f32 : types_[index(types_.size())]; }

  // Recent values more often: chains, as in models.
  Value any() {
    const size_t n = values_.size();
    return one_in(2) ? values_[index(n)] : values_[n - 1 - index(std::min<size_t>(n, 4))];
  }
  // Of the same shape and type.
  Value like(Value v) {
    std::vector<Value> fitting;
    for (const Value w : values_) {
      if (g_.shape(w) == g_.shape(v) && g_.dtype(w) == g_.dtype(v)) fitting.push_back(w);
    }
    return fitting[index(fitting.size())];
  }
  void keep(Value v) {
    if (v.valid() && g_.desc(v).count() <= kMostElements && g_.desc(v).count() > 0) values_.push_back(v);
  }
  int64_t channels(Value v) const { return g_.shape(v).back(); }

  // A weight of that shape and type: often one that is there already.
  Value weight(DType dtype, const Shape& shape) {
    std::vector<Value>& known = weights_[dense(dtype, shape).text()];
    if (!known.empty() && !one_in(3)) return known[index(known.size())];
    known.push_back(g_.weight(named_tensor("w" + std::to_string(count_++), dtype, shape)));
    return known.back();
  }
  Value per_channel(Value like) { return weight(g_.dtype(like), {channels(like)}); }

  void step() {
    const Value a = any();
    switch (below(22)) {
      case 0: return keep(unary(a));
      case 1:
      case 2: return keep(binary(a));
      case 3:
      case 4:
      case 5: return in_place(a);
      case 6:
      case 7: return keep(view(a));
      case 8: return keep(scale(g_, {.scale = 0.5, .shift = 0.25}, a));
      case 9: return keep(norm(a));
      case 10: return linear(a);
      case 11: return projection(a);
      case 12: return convolution(a);
      case 13:
      case 14: return keep(host(a));
      case 15: return keep(joined(a));
      case 16: return keep(reduced(a));
      case 17: return keep(constant(a));
      case 18: return keep(cast(g_, {.dtype = any_type()}, a));
      case 19:
      case 20: return keep(transformer(a));
      default: return keep(g_.latest(a));
    }
  }

  Value unary(Value a) {
    switch (below(5)) {
      case 0: return silu(g_, a);
      case 1: return sigmoid(g_, a);
      case 2: return gelu(g_, a);
      case 3: return softmax(g_, {.axis = -1}, a);
      default: return contiguous(g_, a);
    }
  }

  Value other(Value a) {
    if (one_in(3)) return per_channel(a);
    return one_in(4) ? broadcast(g_, {.shape = g_.shape(a)}, per_channel(a)) : like(a);
  }

  Value binary(Value a) {
    const Value b = other(a);
    switch (below(3)) {
      case 0: return add(g_, a, b);
      case 1: return sub(g_, a, b);
      default: return mul(g_, a, b);
    }
  }

  // One op or several after each other on the newest version of a tensor, or of a view of it.
  void in_place(Value a) {
    Value target = g_.latest(a);
    if (one_in(3)) target = view(target);
    for (int links = 1 + below(3); links > 0 && target.valid(); --links) {
      const TensorDesc d = g_.desc(target);
      if (d.has_broadcast() || d.self_overlapping() || d.count() == 0) return;
      // The other operand may lie in the memory that is written: it is read whole before (ops/add_/op.h).
      const Value same = g_.shape(target) == g_.shape(a) && g_.dtype(target) == g_.dtype(a) ? like(a) : kNone;
      const Value b = !same.valid() || one_in(2) ? per_channel(target) : same;
      target = written(target, b);
      keep(target);
    }
  }

  Value written(Value target, Value b) {
    switch (below(4)) {
      case 0: return silu_(g_, target);
      case 1: return add_(g_, target, b);
      case 2: return mul_(g_, target, b);
      default: return write(g_, target, b);
    }
  }

  Value view(Value a) {
    const int rank = g_.desc(a).rank();
    switch (below(4)) {
      case 0: {
        Dims perm;
        for (int i = 0; i < rank; ++i) perm.push_back((i + 1) % rank);
        return permute(g_, {.perm = perm}, a);
      }
      case 1:
        if (!g_.desc(a).contiguous()) return kNone;
        return reshape(g_, {.shape = {g_.desc(a).count() / channels(a), channels(a)}}, a);
      default: {
        const int axis = below(rank);
        const int64_t extent = g_.shape(a)[axis];
        if (extent < 2) return kNone;
        const int64_t start = below(static_cast<int>(extent)), left = extent - start;
        const int64_t end = start + 1 + below(static_cast<int>(left));
        return slice(g_, {.axis = axis, .start = start, .end = end, .step = 1 + below(2)}, a);
      }
    }
  }

  Value norm(Value a) {
    const int64_t c = channels(a);
    const Value w = one_in(2) ? per_channel(a) : kNone;
    switch (below(3)) {
      case 0: return rms_norm(g_, {}, a, w);
      case 1: return layer_norm(g_, {}, a, w, kNone);
      default: break;
    }
    // As every residual block has it: the norm bare, its affine part and the activation in place.
    Value h = group_norm(g_, {.groups = c % 2 == 0 ? 2 : 1}, a);
    if (one_in(3)) return h;
    h = add_(g_, mul_(g_, h, per_channel(h)), per_channel(h));
    return one_in(3) ? h : silu_(g_, h);
  }

  void linear(Value a) {
    const int64_t c = channels(a);
    Value h = matmul(g_, {}, a, weight(g_.dtype(a), {c, c}));
    if (!one_in(3)) h = one_in(2) ? add(g_, h, per_channel(h)) : add_(g_, h, per_channel(h));
    if (one_in(3)) h = gelu(g_, h);
    if (one_in(2)) h = add(g_, h, like(a));
    keep(h);
  }

  // One number per picture and channel, [N,1,C].
  Value per_picture(Value like) {
    Shape shape = g_.shape(like);
    for (int d = 1; d < shape.rank() - 1; ++d) shape[d] = 1;
    return weight(g_.dtype(like), shape);
  }
  Value times(Value a, Value b) { return one_in(2) ? mul_(g_, a, b) : one_in(2) ? mul(g_, b, a) : mul(g_, a, b); }
  Value plus(Value a, Value b) { return one_in(2) ? add_(g_, a, b) : one_in(2) ? add(g_, b, a) : add(g_, a, b); }

  // What a diffusion transformer does: norms by the time, gates before residuals, gated units, q and k.
  Value transformer(Value a) {
    const int64_t c = channels(a);
    const auto product = [&] { return matmul(g_, {}, a, weight(g_.dtype(a), {c, c})); };
    switch (below(4)) {
      case 0: {
        Value h = one_in(2) ? layer_norm(g_, {}, a) : rms_norm(g_, {}, a);
        if (one_in(2)) h = times(h, per_channel(h));
        h = times(h, per_picture(h));
        return one_in(2) ? plus(h, per_picture(h)) : plus(h, like(a));
      }
      case 1: {
        Value h = product();
        if (one_in(2)) h = plus(h, per_channel(h));
        h = times(h, per_picture(h));
        return one_in(3) ? h : plus(h, like(a));
      }
      case 2: {
        const Value gate = one_in(2) ? silu_(g_, product()) : silu(g_, product());
        return one_in(2) ? times(gate, product()) : times(product(), gate);
      }
      default: {
        const Shape s = g_.shape(a);
        if (s.rank() != 4 || c % 2 != 0) return kNone;
        Value h = rms_norm(g_, {.eps = 1e-5}, product());
        if (one_in(2)) h = times(h, per_channel(h));
        const Value rot = weight(DType::f32, {s[1], c / 2, 2, 2});
        return rope_apply(g_, {.layout = one_in(2) ? RopeLayout::split : RopeLayout::interleaved}, h, rot);
      }
    }
  }

  // Queries, keys and values as slices of one projection.
  void projection(Value a) {
    const int64_t c = channels(a);
    if (g_.desc(a).count() * 3 > kMostElements) return;
    const Value h = matmul(g_, {}, a, weight(g_.dtype(a), {3 * c, c}));
    std::array<Value, 3> part;
    for (int i = 0; i < 3; ++i)
      part[static_cast<size_t>(i)] = slice(g_, {.axis = -1, .start = i * c, .end = (i + 1) * c}, h);
    if (one_in(3)) part[0] = mul_(g_, g_.latest(part[0]), per_channel(part[0]));
    if (g_.desc(h).rank() == 4 && one_in(2)) return keep(attention(g_, {}, part[0], part[1], part[2]));
    keep(add(g_, mul(g_, part[0], part[1]), part[2]));
    keep(part[1]);
  }

  void convolution(Value a) {
    if (g_.desc(a).rank() != 4) return;
    const int64_t c = channels(a);
    Value h = conv2d(g_, {.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}, a,
                     weight(g_.dtype(a), {c, c, 3, 3}));
    if (!one_in(3)) h = add_(g_, h, per_channel(h));
    if (one_in(3)) h = silu(g_, h);
    if (one_in(2)) h = add(g_, like(a), h);
    keep(h);
  }

  Value host(Value a) {
    const std::string name = pick<std::string>({"identity", "negate", "twice", "sum"});
    std::vector<Value> inputs{a};
    if (name == "sum") {
      for (int i = below(5); i > 0; --i) inputs.push_back(like(a));
    }
    return custom(g_, {.fn = find_host_function(name).value()}, std::move(inputs));
  }

  Value joined(Value a) {
    if (g_.desc(a).count() * 2 > kMostElements) return kNone;
    return concat(g_, {.axis = below(g_.desc(a).rank())}, a, like(a));
  }

  Value reduced(Value a) {
    const int axis = below(g_.desc(a).rank());
    const Value r = one_in(2) ? mean(g_, {.axes = {axis}}, a) : sum(g_, {.axes = {axis}}, a);
    return one_in(2) ? r : mul(g_, a, r);
  }

  // What constants alone decide, and its reader.
  Value constant(Value a) {
    const std::string name = "c" + std::to_string(count_++);
    Value c = g_.constant(named_tensor(name, g_.dtype(a), {channels(a)}));
    if (one_in(2)) c = mul(g_, c, scale(g_, {.scale = 2, .shift = 0}, c));
    return add(g_, a, c);
  }

  std::mt19937_64 random_;
  GraphBuilder g_;
  Shape base_;
  std::vector<DType> types_{DType::f32};
  std::vector<Value> values_;
  std::map<std::string, std::vector<Value>> weights_;
  int count_ = 0;
};

}  // namespace

Graph random_device_graph(uint64_t seed) {
  return GraphMaker(seed).run();
}

}  // namespace chiaro::testing
