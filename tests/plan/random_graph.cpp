#include "random_graph.h"

#include <cstdlib>

#include "ops/all.h"

namespace chiaro::testing {
namespace {

class Maker {
 public:
  Maker(uint64_t seed) : random_(seed) {}

  RandomGraph run(int nodes) {
    for (int i = 0; i < 2; ++i) add_input(i);
    for (int i = 0; i < nodes; ++i) step();
    // Several outputs, old versions among them.
    for (int i = 0; i < 3; ++i) g_.output("y" + std::to_string(i), any());
    g_.output("last", values_.back());
    RandomGraph out{g_.finish().value(), std::move(inputs_)};
    return out;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  Value any() { return values_[static_cast<size_t>(below(static_cast<int>(values_.size())))]; }

  void add_input(int i) {
    const Shape shape{2, 3, 4};
    const std::string name = "x" + std::to_string(i);
    std::vector<float> data(24);
    for (float& v : data) v = static_cast<float>(below(2000) - 1000) / 500.0F;
    values_.push_back(g_.input(name, dense(DType::f32, shape)));
    inputs_.emplace_back(name, std::move(data));
  }

  // Values of one shape, so that binary ops find partners.
  Value like(Value v) {
    std::vector<Value> fitting;
    for (const Value w : values_) {
      if (g_.shape(w) == g_.shape(v)) fitting.push_back(w);
    }
    return fitting[static_cast<size_t>(below(static_cast<int>(fitting.size())))];
  }

  bool writable(Value v) {
    const TensorDesc& d = g_.desc(v);
    return g_.latest(v) == v && !d.has_broadcast() && !d.self_overlapping();
  }

  Value weight(const Shape& shape) {
    std::vector<float> data(static_cast<size_t>(element_count(shape)));
    for (float& v : data) v = static_cast<float>(below(2000) - 1000) / 2000.0F;
    return g_.weight(make_tensor("w" + std::to_string(weights_++), DType::f32, shape, data));
  }

  void keep(Value v) {
    if (v.valid()) values_.push_back(v);
  }

  void step() {
    const Value a = any();
    switch (below(16)) {
      case 0: return keep(silu(g_, a));
      case 1: return keep(add(g_, a, like(a)));
      case 2: return keep(mul(g_, a, like(a)));
      case 3: return keep(sub(g_, a, like(a)));
      case 4: return inplace(a, 0);
      case 5: return inplace(a, 1);
      case 6: return inplace(a, 2);
      case 7: return keep(turn(a));
      case 8: return keep(part(a));
      case 9: return keep(scale(g_, {.scale = 0.5, .shift = 0.25}, a));
      case 10: return keep(contiguous(g_, a));
      case 11: return keep(softmax(g_, {.axis = -1}, a));
      case 12: return keep(rms_norm(g_, {}, a));
      case 13: return keep(matmul(g_, {}, a, weight({g_.shape(a).back(), g_.shape(a).back()})));
      case 14: return keep(mul(g_, a, weight({g_.shape(a).back()})));
      default: return keep(g_.latest(a));
    }
  }

  void inplace(Value a, int kind) {
    const Value target = g_.latest(a);  // write through the newest version
    const TensorDesc d = g_.desc(target);
    if (d.has_broadcast() || d.self_overlapping()) return;
    // The other operand may lie in the memory that is written: it is read whole before (ops/add_/op.h).
    const Value b = below(2) == 0 ? like(a) : silu(g_, like(a));
    keep(kind == 0 ? silu_(g_, target) : kind == 1 ? add_(g_, target, b) : write(g_, target, b));
  }

  Value turn(Value a) {
    const int rank = g_.desc(a).rank();
    Dims perm;
    for (int i = 0; i < rank; ++i) perm.push_back((i + 1) % rank);
    return permute(g_, {.perm = perm}, a);
  }

  Value part(Value a) {
    const Shape shape = g_.shape(a);
    const int axis = below(shape.rank());
    if (shape[axis] < 2) return kNone;
    const int64_t start = below(static_cast<int>(shape[axis] - 1));
    return slice(g_, {.axis = axis, .start = start, .end = shape[axis] - below(2) * (shape[axis] > start + 1 ? 1 : 0)},
                 a);
  }

  std::mt19937_64 random_;
  GraphBuilder g_;
  std::vector<Value> values_;
  int weights_ = 0;
  std::vector<std::pair<std::string, std::vector<float>>> inputs_;
};

}  // namespace

RandomGraph random_graph(uint64_t seed, int nodes) {
  return Maker(seed).run(nodes);
}

}  // namespace chiaro::testing
