// What a file that is not what we hoped for looks like, by its first bytes, and what to do about it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace chiaro {

enum class FileKind { empty, gguf, zip, pickle, png, jpeg, webp, html, git_lfs_pointer, json, safetensors, unknown };

struct FileLook {
  FileKind kind = FileKind::unknown;
  std::string looks_like;  // "a Git LFS pointer, not the file itself"
  std::string mend;        // what the user can do
};

// Reads at most the first 512 bytes of `bytes`. A byte pattern is only a hint: call it once reading has failed.
FileLook look_at(std::span<const std::byte> bytes);

}  // namespace chiaro
