// Python's pickle format, read without Python: a program for a stack machine becomes a tree of plain values.
//
// Nothing can be called. A pickle names functions and classes and asks for calls of them; here a name is only compared
// with short lists. Those that state dicts need (torch._utils._rebuild_tensor_v2, collections.OrderedDict, ...) become
// values; a few that training programs leave beside the weights (numpy's scalars) become "opaque"; any other name is an
// error that says it. Opcodes: protocols 2 to 5 without the machinery for objects' own classes; pickletools of Python's
// standard library describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

// Of one pickle. The largest checkpoints have some 20,000 tensors, of some 20 values and 200 bytes each.
inline constexpr uint64_t kMaxPickleBytes = uint64_t{1} << 26;
inline constexpr size_t kMaxPickleValues = 1'500'000;

using PickleRef = uint32_t;  // the place of a value in Pickle::values

enum class PickleKind : uint8_t {
  none,
  boolean,      // integer: 0 or 1
  integer,      // up to 64 bits
  big_integer,  // text: its bytes, little-endian
  real,
  text,     // text: UTF-8, as the file has it
  bytes,    // text
  list,     // items; tuples and sets too
  dict,     // items: key, value, key, value, ...
  global,   // text: "module name", one of those that are known
  storage,  // items: of torch's persistent id, ("storage", type, key, location, numel, ...)
  tensor,   // items: (storage, offset, size, stride, ...), of _rebuild_tensor*; text: the function's name
  opaque,   // something that is not needed; text: what made it
};
std::string_view pickle_kind_name(PickleKind kind);  // "an integer"

struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;  // into the file
  std::vector<PickleRef> items;
};

// Values refer to each other by place: lists may hold themselves, and a value may be in many lists. Views point into
// the bytes that were read.
struct Pickle {
  std::vector<PickleValue> values;
  PickleRef root = 0;
  uint64_t bytes = 0;  // that it takes, up to and with its STOP

  const PickleValue& operator[](PickleRef ref) const { return values[ref]; }
  const PickleValue& top() const { return values[root]; }
  // The value of a text key; nullptr where it is not there.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
};

// The pickle at the front of `data`; bytes may follow it. `where` names it in messages. Memory used is proportional to
// what is read. Errors: bad_file (not a pickle, cut off, over a limit), unsupported (a name or opcode that is not known
// here; the message says which).
Result<Pickle> read_pickle(std::span<const std::byte> data, std::string_view where);

}  // namespace chiaro
