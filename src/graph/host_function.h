// The body of a `custom` op: a function that runs on the host, with the shape rule it declares.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/shape.h"

namespace chiaro {

// A tensor in host memory as a host function sees it. `data` points at the first element of `desc`.
struct HostTensor {
  TensorDesc desc;
  std::byte* data = nullptr;
};

// Thread rule: `run` may be called from several threads at once for different nodes, so it must not share state.
struct HostFunction {
  std::string name;  // shown in plans and errors
  std::function<Result<TensorDesc>(std::span<const TensorDesc> inputs)> infer;
  std::function<Status(std::span<const HostTensor> inputs, const HostTensor& output)> run;
};

}  // namespace chiaro
