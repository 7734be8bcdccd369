// Fuzzes the reader of GGUF headers. Whatever the bytes: no crash, and an accepted header fits the file. Blocks of an
// accepted file are decoded and its lists are read.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/block_formats.h"
#include "weights/gguf_header.h"
#include "weights/gguf_layout.h"

namespace {

using chiaro::GgufEntry;
using chiaro::GgufHeader;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check_entry(const GgufEntry& e, const GgufHeader& header, std::span<const std::byte> data) {
  require(e.offset % header.alignment == 0, "an aligned offset");
  require(e.offset <= data.size() && e.bytes <= data.size() - e.offset, "a tensor inside the data");
  if (!e.dtype) return require(!e.skip_reason.empty(), "a reason for what is not usable");
  const chiaro::TensorDesc desc = chiaro::dense(*e.dtype, e.shape);
  require(static_cast<uint64_t>(desc.dense_bytes()) == e.bytes, "size of shape and dtype");
  require(desc.count() % chiaro::traits(*e.dtype).block_elements == 0, "whole blocks");
  std::vector<float> values(static_cast<size_t>(desc.count()));
  chiaro::decode_blocks(*e.dtype, data.data() + e.offset, 0, desc.count(), values.data());
}

void check_lists(const chiaro::GgufMetadata& metadata) {
  for (const auto& [key, value] : metadata.values()) {
    require(chiaro::gguf_value_text(value).size() < 1000, "a short text");
    (void)metadata.get_integer(key);
    (void)metadata.get_number(key);
    (void)metadata.get_integers(key);
    const auto texts = metadata.get_texts(key);
    uint64_t total = 0;
    for (size_t i = 0; texts.ok() && i < texts->size(); ++i) {
      for (const char c : (*texts)[i]) total += static_cast<unsigned char>(c);  // the sanitizer sees a step outside
    }
    volatile uint64_t seen = total;
    (void)seen;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const auto file = std::as_bytes(std::span(input, size));
  const auto header = chiaro::parse_gguf_header(file, "fuzzed");
  if (!header.ok()) {
    const chiaro::Error& error = header.error();
    require(error.code == chiaro::ErrorCode::bad_file || error.code == chiaro::ErrorCode::unsupported, "a typed error");
    require(!error.mend.empty() && error.format().size() < 4096, "a short error that says how to mend it");
    return 0;
  }
  require(header->data_start <= size && header->unused_bytes <= size, "data inside the file");
  require(header->version == 2 || header->version == 3, "a known version");
  const auto data = file.subspan(header->data_start);
  uint64_t covered = 0;
  std::set<std::string> names;
  for (const GgufEntry& e : header->entries) {
    check_entry(e, *header, data);
    covered += e.bytes;
    require(names.insert(e.name).second, "names are unique");
  }
  require(covered <= data.size(), "tensors share no bytes");
  check_lists(header->metadata);
  return 0;
}
