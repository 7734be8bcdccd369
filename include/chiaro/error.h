// Errors as values: what went wrong, why, how to mend it, and where.
//
// Every fallible function of Chiaro returns Result<T> (or Status). User mistakes never throw and never abort.
// Thread rule: values, no shared state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace chiaro {

enum class ErrorCode : int {
  usage,          // a wrong flag, argument or request
  bad_file,       // a model, image or config that is malformed or does not fit
  unsupported,    // valid, but no kernel or reader takes it
  shape,          // shapes that do not go together
  dtype,          // element types that do not go together
  ownership,      // memory used by a device that may not address it
  non_finite,     // NaN or infinity in a latent or a picture
  out_of_memory,  // an allocation was refused
  io,             // reading or writing failed (disk full, permission)
  cancelled,      // the caller asked to stop
  internal,       // our own mistake
};

std::string_view error_code_name(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::internal;
  std::string what;   // one line: who refuses what
  std::string why;    // the values that led to it
  std::string mend;   // what the user can do
  std::string where;  // tensor, node, file or stage

  // The four lines that a person reads at the terminal; empty fields are left out.
  std::string format() const;
  // Appends context to `where`, innermost first: "norm1 <- unet.down.1".
  Error at(std::string_view context) &&;
};

// A value or an Error. Reading the wrong side is a programming mistake (checked by std::get).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace chiaro

// Returns the error of `expr` from the enclosing function, if it is one.
#define CHIARO_TRY(expr)                                         \
  do {                                                           \
    if (auto chiaro_status_ = (expr); !chiaro_status_.ok()) {    \
      return ::chiaro::Error(std::move(chiaro_status_).error()); \
    }                                                            \
  } while (false)

#define CHIARO_CONCAT_INNER(a, b) a##b
#define CHIARO_CONCAT(a, b) CHIARO_CONCAT_INNER(a, b)
#define CHIARO_ASSIGN_INNER(tmp, decl, expr)                     \
  auto tmp = (expr);                                             \
  if (!tmp.ok()) return ::chiaro::Error(std::move(tmp).error()); \
  decl = std::move(tmp).value()
// CHIARO_ASSIGN(auto x, f()): binds the value of f(), or returns its error.
#define CHIARO_ASSIGN(decl, expr) CHIARO_ASSIGN_INNER(CHIARO_CONCAT(chiaro_result_, __LINE__), decl, expr)
