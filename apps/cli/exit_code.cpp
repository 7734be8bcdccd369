#include "exit_code.h"

namespace chiaro::cli {

int exit_code(const Error& error, Phase phase) {
  switch (error.code) {
    case ErrorCode::usage: return kUsage;
    case ErrorCode::bad_file: return kBadInput;
    case ErrorCode::non_finite: return kNonFinite;
    case ErrorCode::out_of_memory: return kNoSpace;
    case ErrorCode::cancelled: return kInterrupted;
    case ErrorCode::io: return phase == Phase::reading ? kBadInput : kNoSpace;
    case ErrorCode::unsupported: return kBadInput;  // what was given asks for more than there is, whenever that shows
    case ErrorCode::shape:
    case ErrorCode::dtype: return phase == Phase::reading ? kBadInput : kInternal;
    case ErrorCode::ownership:
    case ErrorCode::internal: return kInternal;
  }
  return kInternal;
}

}  // namespace chiaro::cli
