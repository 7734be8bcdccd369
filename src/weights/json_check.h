// Checks a JSON text before a tree is made of it: the tree builder itself keeps one of two equal keys without a word
// and nests as deeply as it is told to. Only for .cpp files (nlohmann's header is slow to compile).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chiaro {

// What is wrong with `text` ("it has the key "a" twice"), or empty where it is one well-formed JSON value in UTF-8 with
// objects and lists at most `max_depth` deep and no key twice in an object. Time O(n log n), memory O(n).
std::optional<std::string> find_json_fault(std::string_view text, int max_depth);

}  // namespace chiaro
