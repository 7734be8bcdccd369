// The text of errors: what a person reads at the terminal.
#include "chiaro/error.h"

namespace chiaro {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage: return "usage";
    case ErrorCode::bad_file: return "file";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::shape: return "shape";
    case ErrorCode::dtype: return "dtype";
    case ErrorCode::ownership: return "ownership";
    case ErrorCode::non_finite: return "non-finite";
    case ErrorCode::out_of_memory: return "memory";
    case ErrorCode::io: return "io";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

std::string Error::format() const {
  std::string text = "error[" + std::string(error_code_name(code)) + "] " + what;
  if (!why.empty()) text += "\n  why   " + why;
  if (!mend.empty()) text += "\n  mend  " + mend;
  if (!where.empty()) text += "\n  where " + where;
  return text;
}

Error Error::at(std::string_view context) && {
  if (!where.empty()) where += " <- ";
  where += context;
  return std::move(*this);
}

}  // namespace chiaro
