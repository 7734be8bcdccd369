// What Metal reports, as errors with what, why and mend.
#pragma once

#include <string>
#include <string_view>

#include "backend/metal/metal_api.h"
#include "chiaro/error.h"

namespace chiaro {

// "text (domain code)", empty for none.
std::string metal_error_text(const NS::Error* error);

// A command buffer ended badly. `device` and `where` (the launches in it) are for the text. Time-outs and refusals of
// memory are the user's to mend; a page fault or a resource that is not there is our mistake.
Error command_buffer_error(const NS::Error* error, std::string_view device, std::string where);

// Metal gave nothing where it should have made `what`.
Error metal_nil(std::string_view device, std::string_view what);

}  // namespace chiaro
