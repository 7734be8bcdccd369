// Fuzzes the reader of safetensors headers. Whatever the bytes: no crash, and an accepted header fits the file exactly.
//
// The input is read twice: as a whole file, and as the JSON of a file whose length field is right and whose data has as
// many bytes as the first two bytes of the input say (else nearly every mutation would fail at the length).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weights/file_look.h"
#include "weights/printable.h"
#include "weights/safetensors_header.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check_entry(const chiaro::SafetensorsEntry& e, std::span<const std::byte> data) {
  require(e.begin <= e.end && e.end <= data.size(), "offsets inside the data");
  if (!e.dtype) {
    require(!e.skip_reason.empty(), "a reason for what is not usable");
    return;
  }
  const chiaro::TensorDesc desc = chiaro::dense(*e.dtype, e.shape);
  require(static_cast<uint64_t>(desc.dense_bytes()) == e.end - e.begin, "size of shape and dtype");
  if (e.end > e.begin) {
    volatile std::byte last = data[e.end - 1];  // the sanitizer sees a step outside
    (void)last;
  }
}

void check(std::span<const std::byte> file) {
  const auto header = chiaro::parse_safetensors_header(file, "fuzzed");
  if (!header.ok()) {
    require(header.error().code == chiaro::ErrorCode::bad_file && !header.error().mend.empty(), "a typed error");
    require(header.error().format().size() < 4096, "a short error");
    return;
  }
  require(header->data_start <= file.size(), "data inside the file");
  const auto data = file.subspan(header->data_start);
  uint64_t covered = 0;
  std::set<std::string> names;
  for (const chiaro::SafetensorsEntry& e : header->entries) {
    check_entry(e, data);
    covered += e.end - e.begin;
    require(names.insert(e.name).second, "names are unique");
  }
  require(covered == data.size(), "tensors tile the data");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const auto bytes = std::as_bytes(std::span(input, size));
  check(bytes);
  (void)chiaro::look_at(bytes);
  (void)chiaro::printable({reinterpret_cast<const char*>(input), size});
  if (size < 2) return 0;
  const size_t data_bytes = static_cast<size_t>(input[0] | input[1] << 8) % 5000;
  const auto json = bytes.subspan(2);
  std::vector<std::byte> file;
  for (size_t i = 0; i < 8; ++i) file.push_back(static_cast<std::byte>(uint64_t{json.size()} >> (8 * i) & 0xFF));
  file.insert(file.end(), json.begin(), json.end());
  file.resize(file.size() + data_bytes);
  check(file);
  return 0;
}
