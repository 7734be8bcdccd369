// One kernel, one launch, in memory laid out as the variant says.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/tensor.h"
#include "runtime/conformance_run.h"

namespace chiaro {
namespace {

constexpr int64_t kGuard = 64;
constexpr auto kPoison = std::byte{0xFF};  // NaN in every float type

// A block of device memory and what it should hold.
struct Image {
  std::vector<std::byte> bytes;
  int64_t start = 0;  // of the first element
  std::unique_ptr<Buffer> buffer;
};

int64_t start_of(int64_t offset, DType dtype) {
  return kGuard + offset * unit_bytes(dtype);
}

Image make_image(int64_t elements, int64_t offset, DType dtype) {
  Image image;
  const int64_t unit = unit_bytes(dtype);
  image.bytes.assign(static_cast<size_t>(2 * kGuard + elements * unit), kPoison);
  image.start = start_of(offset, dtype);
  return image;
}

void fill(Image& image, const TensorDesc& desc, const std::vector<double>& values) {
  for_each_element(desc, [&](int64_t i, int64_t offset) {
    store_element(desc.dtype, image.bytes.data() + image.start, offset, values[static_cast<size_t>(i)]);
  });
}

Status send(Device& device, Image& image) {
  CHIARO_ASSIGN(image.buffer, device.allocate(static_cast<int64_t>(image.bytes.size()), "a conformance operand"));
  return device.upload(*image.buffer, 0, image.bytes);
}

Operand operand(int64_t start, const TensorDesc& desc) {
  return {desc, std::min<int64_t>(kGuard, start & -start), true};
}

// Moves the dense contents of `desc` out of `bytes` and puts the expected bytes there.
std::vector<std::byte> take(std::vector<std::byte>& bytes, const Image& before, const TensorDesc& desc) {
  const auto unit = static_cast<size_t>(unit_bytes(desc.dtype));
  std::vector<std::byte> dense_bytes(static_cast<size_t>(desc.count()) * unit);
  for_each_element(desc, [&](int64_t i, int64_t offset) {
    const auto at = static_cast<size_t>(before.start) + static_cast<size_t>(offset) * unit;
    std::memcpy(dense_bytes.data() + static_cast<size_t>(i) * unit, bytes.data() + at, unit);
    std::memcpy(bytes.data() + at, before.bytes.data() + at, unit);
  });
  return dense_bytes;
}

struct Setup {
  std::vector<Image> inputs;
  Image own_output, scratch;
  std::vector<Operand> operands;
  Operand output;
  int overwrite = -1;

  Image& target() { return overwrite >= 0 ? inputs[static_cast<size_t>(overwrite)] : own_output; }
};

Status prepare(Setup& s, Device& device, const Variant& v, const TensorDesc& out,
               std::span<const std::vector<double>> values) {
  for (size_t i = 0; i < v.inputs.size(); ++i) {
    const VariantInput& in = v.inputs[i];
    s.inputs.push_back(make_image(in.elements, in.offset, in.desc.dtype));
    if (!in.present) {
      s.operands.push_back({{}, 1, false});
      continue;
    }
    if (is_block(in.desc.dtype)) {
      const std::vector<std::byte> blocks = variant_blocks(v, i);
      std::copy(blocks.begin(), blocks.end(), s.inputs[i].bytes.begin() + s.inputs[i].start);
    } else {
      fill(s.inputs[i], in.desc, values[i]);
    }
    CHIARO_TRY(send(device, s.inputs[i]));
    s.operands.push_back(operand(s.inputs[i].start, in.desc));
  }
  while (s.operands.size() < v.source->op->inputs.size() && !v.source->op->variadic) {
    s.operands.push_back({{}, 1, false});
  }
  s.overwrite = v.overwrite;
  if (v.overwrite < 0) {
    s.own_output = make_image(out.count(), 0, out.dtype);
    CHIARO_TRY(send(device, s.own_output));
  }
  s.output = operand(s.target().start, out);
  return {};
}

Status launch(Setup& s, Device& device, const KernelPlan& plan, const OpDef& op) {
  s.scratch.bytes.assign(static_cast<size_t>(plan.scratch_bytes() + kGuard), kPoison);
  CHIARO_TRY(send(device, s.scratch));
  Launch one;
  one.plan = &plan;
  one.op = &op;
  for (size_t i = 0; i < s.operands.size(); ++i) {
    one.inputs.push_back(s.operands[i].present ? BufferRef{s.inputs[i].buffer.get(), s.inputs[i].start} : BufferRef{});
  }
  one.output = {s.target().buffer.get(), s.target().start};
  if (plan.scratch_bytes() > 0) one.scratch = {s.scratch.buffer.get(), 0};
  CHIARO_ASSIGN(auto segment, device.compile({one}));
  CHIARO_TRY(device.submit(*segment, nullptr, {}));
  return device.wait(*segment);
}

Result<std::vector<std::byte>> received(Device& device, const Image& image) {
  std::vector<std::byte> bytes(image.bytes.size());
  CHIARO_TRY(device.download(bytes, *image.buffer, 0));
  return bytes;
}

// Takes the result out and checks that nothing else was written.
Status check(Setup& s, Device& device, VariantRun& run) {
  const auto changed = [&](const std::vector<std::byte>& now, const Image& before, const std::string& what) -> Status {
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] == before.bytes[i]) continue;
      const int64_t at = static_cast<int64_t>(i) - before.start;
      return Error{ErrorCode::internal, what + " was changed at byte " + std::to_string(at) + " from its start", "", "",
                   ""};
    }
    return {};
  };
  CHIARO_ASSIGN(auto bytes, received(device, s.target()));
  run.output = take(bytes, s.target(), s.output.desc);
  CHIARO_TRY(changed(bytes, s.target(), "memory around the result"));
  for (size_t i = 0; i < s.operands.size(); ++i) {
    if (!s.operands[i].present || static_cast<int>(i) == s.overwrite) continue;
    CHIARO_ASSIGN(const auto now, received(device, s.inputs[i]));
    CHIARO_TRY(changed(now, s.inputs[i], "input " + std::to_string(i)));
  }
  CHIARO_ASSIGN(const auto scratch, received(device, s.scratch));
  const auto guard = scratch.end() - kGuard;
  if (std::any_of(guard, scratch.end(), [](std::byte b) { return b != kPoison; })) {
    return Error{ErrorCode::internal, "memory behind the scratch was written", "", "", ""};
  }
  return {};
}

// What the result is like: that of the input whose memory it takes.
const TensorDesc& result_of(const Variant& v, const TensorDesc& out) {
  return v.overwrite >= 0 ? v.inputs[static_cast<size_t>(v.overwrite)].desc : out;
}

}  // namespace

Result<KernelPlan> plan_launch(const Device& device, const Kernel& kernel, const Variant& v, const TensorDesc& out) {
  std::vector<Operand> operands;
  for (const VariantInput& in : v.inputs) {
    operands.push_back(in.present ? operand(start_of(in.offset, in.desc.dtype), in.desc) : Operand{{}, 1, false});
  }
  while (operands.size() < v.source->op->inputs.size() && !v.source->op->variadic) {
    operands.push_back({{}, 1, false});
  }
  const int64_t offset = v.overwrite >= 0 ? v.inputs[static_cast<size_t>(v.overwrite)].offset : 0;
  const Operand result = operand(start_of(offset, out.dtype), result_of(v, out));
  return kernel.plan({v.source->op, &v.source->attrs, operands, result}, device.traits());
}

VariantRun launch_variant(Device& device, const Kernel& kernel, const Variant& v, const TensorDesc& out,
                          std::span<const std::vector<double>> values) {
  VariantRun run;
  Setup setup;
  const auto broken = [&](const Status& status) {
    run.broken = true;
    run.why = std::string(kernel.name) + ": " + status.error().format();
    return run;
  };
  if (const Status status = prepare(setup, device, v, result_of(v, out), values); !status.ok()) return broken(status);
  const Call call{v.source->op, &v.source->attrs, setup.operands, setup.output};
  const auto plan = kernel.plan(call, device.traits());
  if (!plan.ok()) {
    run.refused = true;
    run.why = "needs " + plan.error().why;
    return run;
  }
  if (const Status status = launch(setup, device, *plan, *v.source->op); !status.ok()) return broken(status);
  if (const Status status = check(setup, device, run); !status.ok()) return broken(status);
  return run;
}

}  // namespace chiaro
