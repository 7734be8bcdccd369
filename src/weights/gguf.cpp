// From a checked header to tensors.
#include "weights/gguf.h"

#include <algorithm>

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "weights/gguf_header.h"
#include "weights/tensor_list.h"

namespace chiaro {

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  CHIARO_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  CHIARO_ASSIGN(GgufHeader header, parse_gguf_header(file->bytes(), path_to_utf8(path), file));
  std::sort(header.entries.begin(), header.entries.end(),
            [](const GgufEntry& a, const GgufEntry& b) { return a.name < b.name; });
  auto contents = std::make_shared<Contents>();
  contents->path = path;
  contents->metadata = std::move(header.metadata);
  contents->version = header.version;
  contents->alignment = header.alignment;
  contents->unused_bytes = header.unused_bytes;
  const auto source = std::make_shared<const TensorFile>(TensorFile{file, static_cast<int64_t>(header.data_start)});
  for (GgufEntry& entry : header.entries) {
    if (!entry.dtype) {
      contents->skipped.push_back({std::move(entry.name), std::move(entry.skip_reason)});
      continue;
    }
    auto tensor = std::make_shared<TensorData>();
    tensor->name = std::move(entry.name);
    tensor->desc = dense(*entry.dtype, entry.shape);
    tensor->bytes = file->bytes().data() + header.data_start + entry.offset;
    tensor->owner = file;
    tensor->file = source;
    contents->tensors.push_back(std::move(tensor));
  }
  return GgufFile(std::move(contents));
}

TensorDataPtr GgufFile::find(std::string_view name) const {
  return find_tensor(contents_->tensors, name);
}

}  // namespace chiaro
