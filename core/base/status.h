#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/code.h"
#include "core/base/nonblocking.h"
#include "core/base/text.h"

namespace rill {

/// Return the name of a code: "parse", "unsupported", ...
std::string_view code_name(Code code);

/// A failure: what was expected and what was found, where, and what to do next.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string file;  ///< file the failure was found in, or empty
  int line = 0;      ///< 1-based, 0 if unknown
  int column = 0;    ///< 1-based, 0 if unknown
  std::string node;  ///< node of the graph, or empty
  std::string op;    ///< operator of that node, or empty
  std::string hint;  ///< the next step, or empty

  /// Format everything as one line: location, node and operator, message, hint.
  std::string to_string() const;
};

/// Success, or an `Error`. As large as a pointer; success allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error);  // NOLINT: by design
  Status(Status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    Status taken(std::move(other));
    std::swap(error_, taken.error_);
    return *this;
  }
  Status(const Status& other);
  Status& operator=(const Status& other) { return *this = Status(other); }
  // Inlined, so that the compiler can remove it where it proves success.
  RILL_NOT_IN_STEPS_BEGIN
  [[gnu::always_inline]] ~Status() noexcept RILL_NONBLOCKING {
    if (error_ != nullptr) drop(error_);
  }
  RILL_NOT_IN_STEPS_END

  bool ok() const { return error_ == nullptr; }
  const Error& error() const { return *error_; }
  Error& error() { return *error_; }
  Code code() const { return error_ ? error_->code : Code::kOk; }

  /// Fill in the location if it is still unknown, and return the status.
  Status at(std::string_view file, int line, int column = 0) &&;
  /// Fill in node and operator if they are still unknown, and return the status.
  Status in_node(std::string_view node, std::string_view op) &&;
  Status hint(std::string_view next_step) && RILL_NONBLOCKING;
  Status hint(const char* next_step) && RILL_NONBLOCKING;

 private:
  [[gnu::cold]] static void drop(Error* error) noexcept;

  Error* error_ = nullptr;
};

/// Report a missing value, in every build: like `operator new` if memory ran out, else as an
/// internal error of rill. The C interface turns both into errors; without exceptions, the process
/// ends.
RILL_NOT_IN_STEPS_BEGIN
[[noreturn, gnu::cold]] void no_value(const Status& status) RILL_NONBLOCKING;
RILL_NOT_IN_STEPS_END

/// A value, or the `Error` that explains its absence. Access checks whether the value exists.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}               // NOLINT: by design
  Result(Status status) : status_(std::move(status)) {}       // NOLINT: by design
  Result(Error error) : status_(Status(std::move(error))) {}  // NOLINT: by design

  Result(const Result&) = default;
  Result(Result&&) noexcept = default;
  Result& operator=(const Result&) = default;
  Result& operator=(Result&&) noexcept = default;
  [[gnu::always_inline]] ~Result() {}  // NOLINT: inlined, unlike a default one

  bool ok() const { return value_.has_value(); }
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Status& status() const { return status_; }
  Status take_status() { return std::move(status_); }
  const Error& error() const { return status_.error(); }

 private:
  void check() const {
    if (!value_.has_value()) [[unlikely]] {
      no_value(status_);
    }
  }

  template <class U>
  friend U&& take_value(Result<U>& result);

  std::optional<T> value_;
  Status status_;
};

RILL_NOT_IN_STEPS_BEGIN
/// Make a failure with a message that joins the pieces, which follow as C arguments.
Status failed(Code code, uint64_t kinds, const AppendPiece* others, ...) RILL_NONBLOCKING;

template <class... Arguments>
Status fail_with(Code code, Arguments... arguments) RILL_NONBLOCKING {
  return failed(code, piece_kinds<std::remove_cvref_t<Arguments>...>(),
                other_pieces<std::remove_cvref_t<Arguments>...>(), passed_piece(arguments)...);
}

/// Make a failure with a code and a message in pieces: `fail(Code::kShape, "rank ", r)`.
template <class... Parts>
Status fail(Code code, const Parts&... parts) RILL_NONBLOCKING {
  return fail_with<PieceArgument<Parts>...>(code, parts...);
}
RILL_NOT_IN_STEPS_END

inline Status take_status(Status& status) { return std::move(status); }
template <class T>
Status take_status(Result<T>& result) {
  return result.take_status();
}
/// Move out a value that the caller has checked, without a second check, since there are thousands
/// of such calls. The compiler knows that there is no error, so it omits the error's destructor.
template <class T>
T&& take_value(Result<T>& result) {
  if (!result.status_.ok()) __builtin_unreachable();
  return std::move(*result.value_);
}

#define RILL_JOIN_(a, b) a##b
#define RILL_JOIN(a, b) RILL_JOIN_(a, b)

/// Return a failure to the caller: `RILL_TRY(status_expression)`.
#define RILL_TRY(expression)                                                \
  do {                                                                      \
    auto rill_try_result = (expression);                                    \
    if (!rill_try_result.ok()) return ::rill::take_status(rill_try_result); \
  } while (false)

/// Return a failure to the caller, or bind the value: `RILL_ASSIGN(const int n, to_int(x))`.
#define RILL_ASSIGN(declaration, expression) \
  RILL_ASSIGN_(RILL_JOIN(rill_result_, __LINE__), declaration, expression)
#define RILL_ASSIGN_(name, declaration, expression)   \
  declaration = __extension__({                       \
    auto name = (expression);                         \
    if (!name.ok()) return ::rill::take_status(name); \
    ::rill::take_value(name);                         \
  })

/// Fail with kShape unless the condition holds.
#define RILL_CHECK(condition, ...) \
  if (!(condition)) return ::rill::fail(::rill::Code::kShape, __VA_ARGS__)

/// Assert an invariant of our own code. Checked in debug and sanitizer builds only.
#if defined(NDEBUG) && !defined(RILL_CHECKED)
#define RILL_ASSERT(condition) ((void)0)
#else
#define RILL_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#endif

}  // namespace rill
