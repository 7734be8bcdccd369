// Magic numbers of the files that people pass by mistake.
#include "weights/file_look.h"

#include <algorithm>
#include <string_view>

#include "core/ascii.h"

namespace chiaro {
namespace {

// The text without a byte order mark and leading white space.
std::string_view trimmed(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

bool is_safetensors(std::string_view head) {
  // An 8-byte little-endian length of at most 100 MB, then the brace of the header.
  return head.size() >= 10 && head[8] == '{' && head.substr(4, 4) == std::string_view("\0\0\0\0", 4);
}

bool is_pickle(std::string_view head) {
  // PROTO opcode with protocol 2 to 5.
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

}  // namespace

FileLook look_at(std::span<const std::byte> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 512));
  const std::string_view text = trimmed(head);
  const std::string start = ascii_lower(text.substr(0, 64));
  if (head.empty()) return {FileKind::empty, "an empty file", "the download or the copy failed: get the file again"};
  if (is_safetensors(head)) {
    return {FileKind::safetensors, "a safetensors file", "pass it where a safetensors file is expected"};
  }
  if (head.starts_with("GGUF")) {
    return {FileKind::gguf, "a GGUF file", "pass it as the model, or as the part of a model that it holds"};
  }
  if (head.starts_with("PK\x03\x04")) {
    return {FileKind::zip, "a zip archive (a PyTorch checkpoint such as .ckpt, .pt or .bin is one)",
            "pass it as the model, or as the part of a model that it holds"};
  }
  if (is_pickle(head)) {
    return {FileKind::pickle, "a Python pickle (an old PyTorch checkpoint)",
            "pass it as the model, or as the part of a model that it holds"};
  }
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return {FileKind::png, "a PNG picture", "pass a model, not a picture"};
  if (head.starts_with("\xFF\xD8\xFF")) return {FileKind::jpeg, "a JPEG picture", "pass a model, not a picture"};
  if (head.starts_with("RIFF") && head.size() >= 12 && head.substr(8, 4) == "WEBP") {
    return {FileKind::webp, "a WebP picture", "pass a model, not a picture"};
  }
  if (start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<?xml")) {
    return {FileKind::html, "a web page, not the file itself",
            "the download got a page (perhaps one asking to sign in): fetch the file from its direct link"};
  }
  if (start.starts_with("version https://git-lfs")) {
    return {FileKind::git_lfs_pointer, "a Git LFS pointer, not the file itself",
            "run \"git lfs pull\" in the folder, or download the file"};
  }
  if (text.starts_with("{")) {
    return {FileKind::json, "a JSON text", "pass the folder that holds model_index.json, or a .safetensors file"};
  }
  return {FileKind::unknown, "none of the formats known here", "pass a diffusers folder or a .safetensors file"};
}

}  // namespace chiaro
