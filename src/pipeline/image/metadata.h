// What a picture's file says about how it was made: webui's "parameters" text, and a JSON chunk "chiaro" that holds
// every field of the request, so that the run can be repeated.
#pragma once

#include "chiaro/chiaro.h"
#include "pipeline/image/image_io.h"

namespace chiaro {

inline constexpr std::string_view kParametersKeyword = "parameters";
inline constexpr std::string_view kRequestKeyword = "chiaro";

// The text chunks of picture `index` of a run: the stored seed is the picture's own, its count 1.
PngText picture_text(const GenerateRequest& used, const std::string& model, const Picture& picture);

struct StoredRequest {
  GenerateRequest request;
  std::string model, version;
};
// The request in a picture's "chiaro" chunk. Errors: bad_file (no such chunk, malformed, out of range).
Result<StoredRequest> stored_request(const PngText& text, std::string_view where);

}  // namespace chiaro
