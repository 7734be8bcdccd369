// One op on a device, from bytes to bytes: for tests that name their own values. Memory is poisoned, and
// results and scratch of the software GPU know what was written.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/block_formats.h"
#include "core/tensor.h"
#include "gpu/soft_device.h"

namespace chiaro {

// A tensor in a block of memory of its own: its first element lies `start` bytes from the block's.
struct OpTensor {
  TensorDesc desc;
  std::vector<std::byte> block = {};
  int64_t start = 0;

  // Dense, from numbers; a block type is encoded.
  static OpTensor of(DType dtype, const Shape& shape, const std::vector<float>& values) {
    OpTensor t{dense(dtype, shape)};
    t.block.resize(static_cast<size_t>(t.desc.dense_bytes()));
    encode_blocks(dtype, values.data(), t.desc.count(), t.block.data());
    return t;
  }
  static OpTensor of(const Shape& shape, const std::vector<int32_t>& values) {
    OpTensor t{dense(DType::i32, shape)};
    t.block.resize(static_cast<size_t>(t.desc.dense_bytes()));
    std::memcpy(t.block.data(), values.data(), t.block.size());
    return t;
  }
  // The elements in the order of the shape.
  std::vector<float> values() const {
    std::vector<float> out(static_cast<size_t>(desc.count()));
    if (is_block(desc.dtype)) {
      decode_blocks(desc.dtype, block.data() + start, 0, desc.count(), out.data());
      return out;
    }
    for_each_element(desc, [&](int64_t i, int64_t at) {
      out[static_cast<size_t>(i)] = static_cast<float>(load_element(desc.dtype, block.data() + start, at));
    });
    return out;
  }
};

// Plans and runs the device's first kernel for O. Scratch and the result hold `poison` before. An op in place gives its
// first input as it is afterwards. Errors: what infer(), plan() and the launch report.
template <class O>
Result<OpTensor> run_op(Device& device, const typename O::Attrs& attrs, const std::vector<OpTensor>& inputs,
                        std::byte poison = std::byte{0xFF}) {
  std::vector<Operand> operands;
  std::vector<const TensorDesc*> descs;
  std::vector<std::unique_ptr<Buffer>> memory;
  Launch launch;
  for (const OpTensor& x : inputs) {
    const bool present = !x.block.empty();
    operands.push_back({x.desc, x.start == 0 ? 64 : (x.start & -x.start), present});
    descs.push_back(present ? &x.desc : nullptr);
    if (!present) {
      launch.inputs.emplace_back();
      continue;
    }
    CHIARO_ASSIGN(auto buffer, device.allocate(static_cast<int64_t>(x.block.size()), "an operand"));
    CHIARO_TRY(device.upload(*buffer, 0, x.block));
    launch.inputs.push_back({buffer.get(), x.start});
    memory.push_back(std::move(buffer));
  }
  CHIARO_ASSIGN(const TensorDesc inferred, O::infer(attrs, descs));
  const bool in_place = O::kind == OpKind::inplace;
  OpTensor y = in_place ? inputs[0] : OpTensor{inferred};
  if (!in_place) y.block.assign(static_cast<size_t>(inferred.dense_bytes()), poison);
  const AttrMap map = encode_attrs(attrs);
  const Operand output = in_place ? operands[0] : Operand{inferred, 64, true};
  const Call call{&op_def<O>(), &map, operands, output};
  if (device.kernels(O::name).empty()) return Error{ErrorCode::internal, "no kernel", std::string(O::name), "", ""};
  CHIARO_ASSIGN(const KernelPlan plan, device.kernels(O::name).front().plan(call, device.traits()));
  const std::vector<std::byte> dirt(static_cast<size_t>(plan.scratch_bytes()), poison);
  CHIARO_ASSIGN(auto scratch, device.allocate(plan.scratch_bytes(), "scratch"));
  CHIARO_TRY(device.upload(*scratch, 0, dirt));
  launch.plan = &plan;
  launch.op = &op_def<O>();
  if (plan.scratch_bytes() > 0) launch.scratch = {scratch.get(), 0};
  if (in_place) {
    launch.output = launch.inputs[0];
  } else {
    CHIARO_ASSIGN(auto buffer, device.allocate(static_cast<int64_t>(y.block.size()), "the result"));
    CHIARO_TRY(device.upload(*buffer, 0, y.block));
    launch.output = {buffer.get(), 0};
    memory.push_back(std::move(buffer));
  }
  CHIARO_ASSIGN(const auto segment, device.compile({launch}));
  CHIARO_TRY(device.submit(*segment, nullptr, {}));
  CHIARO_TRY(device.wait(*segment));
  CHIARO_TRY(device.download(y.block, *launch.output.buffer, 0));
  return y;
}

// The device that most tests here use: kernels with simdgroup operations, or without, under all checks.
inline constexpr const char* kProfiles[] = {"apple7", "apple5-vm"};
inline std::string profile_name(const ::testing::TestParamInfo<const char*>& one) {
  return std::string(one.param) == "apple5-vm" ? "apple5_vm" : one.param;
}

}  // namespace chiaro
