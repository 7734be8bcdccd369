// Paths and program arguments at the edge: UTF-8 inside Chiaro, whatever the system speaks outside.
//
// On Windows the narrow constructors of std::filesystem::path and argv go through the ANSI code page and lose letters;
// these functions do not. On Linux and macOS a path is its bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace chiaro {

std::filesystem::path path_from_utf8(std::string_view text);
std::string path_to_utf8(const std::filesystem::path& path);

// Windows hands arguments over as UTF-16 (GetCommandLineW). Empty for text that is not well formed: an unpaired
// surrogate or, the other way, bytes that are not UTF-8 (overlong forms and coded surrogates included).
std::optional<std::string> utf8_from_utf16(std::u16string_view text);
std::optional<std::u16string> utf16_from_utf8(std::string_view text);

}  // namespace chiaro
