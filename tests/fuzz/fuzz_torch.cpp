// Fuzzes the reader of PyTorch checkpoints. Whatever the bytes: no crash, and what is accepted lies inside the file or
// in copies no larger than it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <string>

#include "weights/pickle.h"
#include "weights/torch.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check_error(const chiaro::Error& error) {
  require(error.code == chiaro::ErrorCode::bad_file || error.code == chiaro::ErrorCode::unsupported, "a typed error");
  require(!error.mend.empty() && error.format().size() < 4096, "a short error that says how to mend it");
}

void check_pickle(std::span<const std::byte> file) {
  const auto pickle = chiaro::read_pickle(file, "fuzzed");
  if (!pickle.ok()) return check_error(pickle.error());
  require(pickle->bytes <= file.size() && pickle->root < pickle->values.size(), "a pickle inside the file");
  uint64_t total = 0;
  for (const chiaro::PickleValue& value : pickle->values) {
    for (const chiaro::PickleRef ref : value.items) require(ref < pickle->values.size(), "a value that is there");
    for (const char c : value.text) total += static_cast<unsigned char>(c);  // the sanitizer sees a step outside
  }
  volatile uint64_t seen = total;
  (void)seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const auto file = std::as_bytes(std::span(input, size));
  check_pickle(file);
  const auto contents = chiaro::parse_torch(file, "fuzzed");
  if (!contents.ok()) {
    check_error(contents.error());
    return 0;
  }
  std::set<std::string> names;
  uint64_t total = 0, copied = 0;
  for (const chiaro::TensorDataPtr& t : contents->tensors) {
    require(names.insert(t->name).second, "names are unique");
    require(t->desc.contiguous(), "dense tensors");
    const int64_t bytes = t->desc.dense_bytes();
    if (t->owner != nullptr) copied += static_cast<uint64_t>(bytes);
    for (int64_t i = 0; i < bytes; ++i) total += std::to_integer<uint64_t>(t->bytes[i]);  // the sanitizer looks
  }
  for (const chiaro::SkippedTensor& s : contents->skipped) {
    require(names.insert(s.name).second && !s.reason.empty(), "a reason for what is not usable");
  }
  require(copied <= size, "copies no larger than the file");
  volatile uint64_t seen = total;
  (void)seen;
  return 0;
}
