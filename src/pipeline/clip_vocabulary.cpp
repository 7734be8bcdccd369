#include "pipeline/clip_vocabulary.h"

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

namespace chiaro {
namespace {

namespace fs = std::filesystem;

// Of models/clip-vocab/merges.txt (models/clip-vocab/SHA256SUMS).
constexpr std::string_view kMergesSha256 = "9fd691f7c8039210e0fced15865466c65820d09b63988b0174bfe25de299051a";

fs::path program_folder() {
  std::error_code error;
#if defined(__APPLE__)
  uint32_t size = 0;
  ::_NSGetExecutablePath(nullptr, &size);  // fails, and says how much it needs
  std::string name(size, '\0');
  if (::_NSGetExecutablePath(name.data(), &size) != 0) return {};
  const fs::path program = fs::canonical(name.c_str(), error);
#else
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
#endif
  return error ? fs::path() : program.parent_path();
}

}  // namespace

std::vector<fs::path> shipped_model_folders() {
  std::vector<fs::path> candidates;
  if (const char* set = std::getenv("CHIARO_MODELS"); set != nullptr && *set != '\0') candidates.emplace_back(set);
  if (const fs::path program = program_folder(); !program.empty()) {
    candidates.push_back(program / "models");
    candidates.push_back(program / ".." / "share" / "chiaro" / "models");
  }
  candidates.emplace_back(CHIARO_SHIPPED_MODELS);
  std::vector<fs::path> found;
  for (const fs::path& folder : candidates) {
    std::error_code error;
    if (fs::is_directory(folder, error)) found.push_back(folder);
  }
  return found;
}

Result<ClipTokenizer> load_clip_vocabulary(const ClipTokenizerOptions& options) {
  std::string looked;
  for (const fs::path& folder : shipped_model_folders()) {
    const fs::path file = folder / "clip-vocab" / "merges.txt";
    std::error_code error;
    if (fs::exists(file, error)) return ClipTokenizer::load_merges_file(file, kMergesSha256, options);
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  return Error{ErrorCode::io, "CLIP's vocabulary is not installed",
               "clip-vocab/merges.txt is in none of: " + (looked.empty() ? "(no folder found)" : looked),
               "set CHIARO_MODELS to the models folder that ships with Chiaro", ""};
}

}  // namespace chiaro
