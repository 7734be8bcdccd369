#include "ops/kernel.h"

#include <bit>

namespace chiaro {
namespace {

// FNV-1a over 64-bit words, with a final mix: a digest for telling calls apart, not for security.
class Digest {
 public:
  void word(uint64_t w) { state_ = (state_ ^ w) * 0x100000001b3ULL ^ (state_ >> 29); }
  void text(std::string_view s) {
    word(s.size());
    for (const char c : s) word(static_cast<unsigned char>(c));
  }
  uint64_t value() const { return (state_ ^ (state_ >> 32)) * 0x9e3779b97f4a7c15ULL; }

 private:
  uint64_t state_ = 0xcbf29ce484222325ULL;
};

struct AttrDigest {
  Digest& digest;
  void operator()(int64_t v) const { digest.word(static_cast<uint64_t>(v)); }
  void operator()(double v) const { digest.word(std::bit_cast<uint64_t>(v)); }
  void operator()(bool v) const { digest.word(v ? 1 : 0); }
  void operator()(const std::string& v) const { digest.text(v); }
  void operator()(const std::vector<int64_t>& v) const {
    digest.word(v.size());
    for (const int64_t x : v) digest.word(static_cast<uint64_t>(x));
  }
  void operator()(const std::shared_ptr<const HostFunction>& v) const {
    digest.word(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(v.get())));
  }
  void operator()(const NeverHeld&) const {}
};

void add_operand(Digest& digest, const Operand& operand) {
  digest.word((operand.present ? 1 : 0) + (operand.constant ? 2 : 0));
  if (!operand.present) return;
  digest.word(static_cast<uint64_t>(operand.desc.dtype));
  digest.word(static_cast<uint64_t>(operand.alignment));
  digest.word(static_cast<uint64_t>(operand.desc.rank()));
  for (int d = 0; d < operand.desc.rank(); ++d) {
    digest.word(static_cast<uint64_t>(operand.desc.shape[d]));
    digest.word(static_cast<uint64_t>(operand.desc.strides[d]));
  }
}

}  // namespace

uint64_t call_digest(const Call& call, std::string_view device) {
  Digest digest;
  digest.text(device);
  digest.text(call.op->name);
  for (const auto& [name, value] : *call.attrs) {
    digest.text(name);
    digest.word(value.index());
    std::visit(AttrDigest{digest}, value);
  }
  digest.word(call.inputs.size());
  for (const Operand& operand : call.inputs) add_operand(digest, operand);
  add_operand(digest, call.output);
  return digest.value();
}

Error kernel_refusal(std::string_view kernel, std::string what, std::string needs) {
  return {ErrorCode::unsupported, std::string(kernel) + " does not take " + std::move(what), std::move(needs),
          "the planner inserts a copy or another kernel", ""};
}

}  // namespace chiaro
