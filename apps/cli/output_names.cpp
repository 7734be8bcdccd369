#include "output_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/atomic_file.h"
#include "core/utf8_path.h"

namespace chiaro::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDigits = 9;

bool ends_in_png(const std::string& name) {
  if (name.size() < 5) return false;
  std::string end = name.substr(name.size() - 4);
  for (char& c : end) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return end == ".png" && name[name.size() - 5] != '/';
}

}  // namespace

Status check_writable(const fs::path& path, const std::string& flag) {
  const auto refuse = [&](std::string why, std::string mend) {
    return Error{ErrorCode::usage, flag + " cannot be written", std::move(why), std::move(mend), path_to_utf8(path)};
  };
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    return refuse("there is no folder \"" + path_to_utf8(folder) + "\"", "make the folder first, or choose another");
  }
  if (fs::is_directory(path, error)) return refuse("it is a folder", "give the name of a file in it");
  auto file = AtomicFile::create(path);
  if (!file.ok()) return refuse(file.error().why, "choose a folder that you may write to");
  file->discard();
  return {};
}

Status check_picture_name(const std::string& name, const std::string& flag) {
  if (ends_in_png(name)) return {};
  return Error{ErrorCode::usage, "\"" + name + "\" is not a name for a picture", "pictures are written as PNG",
               "use a name that ends in .png", flag};
}

Result<OutputNames> OutputNames::make(const std::string& output) {
  CHIARO_TRY(check_picture_name(output, "--output"));
  OutputNames names;
  names.before_ = output.substr(0, output.size() - 4);
  names.after_ = output.substr(output.size() - 4);
  for (size_t at = output.find('%'); at != std::string::npos; at = output.find('%', at + 1)) {
    size_t end = at + 1;
    int digits = 0;
    while (end < output.size() && output[end] >= '0' && output[end] <= '9' && digits <= kMostDigits) {
      digits = digits * 10 + (output[end++] - '0');
    }
    if (end >= output.size() || output[end] != 'd' || digits > kMostDigits) continue;
    names.before_ = output.substr(0, at);
    names.after_ = output.substr(end + 1);
    names.digits_ = digits;
    names.pattern_ = true;
    break;
  }
  CHIARO_TRY(check_writable(names.name(0), "--output"));
  return names;
}

fs::path OutputNames::name(int index) const {
  if (pattern_) return path_from_utf8(fmt::format("{}{:0{}}{}", before_, index, std::max(1, digits_), after_));
  if (index == 0) return path_from_utf8(before_ + after_);
  return path_from_utf8(fmt::format("{}_{}{}", before_, index + 1, after_));
}

}  // namespace chiaro::cli
