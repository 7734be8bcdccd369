// Arrays that start as zeros and cost nothing where they are not touched: a launch's notes about large buffers.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace chiaro::gpu::soft {

struct FreeZeros {
  void operator()(void* p) const { std::free(p); }
};
// T: an integer, or an atomic one.
template <class T>
using Zeros = std::unique_ptr<T[], FreeZeros>;

template <class T>
Zeros<T> make_zeros(size_t n) {
  auto* p = static_cast<T*>(std::calloc(n == 0 ? 1 : n, sizeof(T)));
  if (p == nullptr) throw std::bad_alloc();
  return Zeros<T>(p);
}

}  // namespace chiaro::gpu::soft
