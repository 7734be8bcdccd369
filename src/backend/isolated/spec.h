// What an isolated test device can and cannot do, as data and as text:
//   isolated:NAME[,no=OP[:DTYPE][:strided]+...][,budget=64M][,delay=5ms][,addresses=DEVICE+...][,seed=N][,fail=N]
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/kernel.h"

namespace chiaro {

// Calls that the device refuses, whatever its kernels say.
struct MaskEntry {
  std::string op = "*";             // an op's name, or * for all
  std::optional<DType> dtype = {};  // only where an operand is of this type
  bool strided = false;             // only where an operand is not dense and row-major
  bool operator==(const MaskEntry&) const = default;
  bool refuses(const Call& call) const;
  std::string text() const;  // as in the spec
};

struct IsolatedSpec {
  std::string name = "isolated:a";
  std::vector<MaskEntry> mask = {};
  std::vector<std::string> addresses = {};  // names of other devices whose memory its kernels may touch
  int64_t budget_bytes = 0;                 // 0: no limit
  std::chrono::microseconds copy_delay{0};  // a copy's bytes land after up to this long
  uint64_t seed = 1;                        // of the delays
  int64_t fail_at = 0;                      // the N-th allocation is refused (from 1); 0: none
};

inline constexpr std::string_view kIsolatedPrefix = "isolated:";

// Sizes take K, M, G (of 1024); times us, ms, s. Errors: usage, naming the part that is not understood and what may
// stand there; ops and types must exist.
Result<IsolatedSpec> parse_isolated_spec(std::string_view text);

// Splits "cpu,isolated:a,budget=64M,isolated:b" at the commas that begin a device; KEY=VALUE belongs to the one before.
std::vector<std::string> split_devices(std::string_view list);

}  // namespace chiaro
