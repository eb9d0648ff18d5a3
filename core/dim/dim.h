#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/nonblocking.h"
#include "core/base/status.h"

namespace rill {

struct DimSum;

/// Values of symbols: a short list that is searched linearly.
using Bindings = std::vector<std::pair<std::string, int64_t>>;

/// An integer expression over symbols such as `B` and `S`: sums and products, floor division by a
/// positive constant, min, max, broadcast, and `>=` and `==` with the values 0 and 1. A value,
/// immutable and always in normal form: products are distributed, equal terms are merged, and
/// divisions are reduced.
///
/// Division rounds down, so that `(k*x + c)/k` becomes `x + c/k`. tract truncates; the results
/// differ only for negative numerators, and no extent is negative.
///
/// An expression that exceeds its size limits or the range of int64 becomes invalid. An expression
/// computed from an invalid one is invalid too, and equals nothing.
class Dim {
 public:
  Dim() = default;
  Dim(int64_t value) : value_(value) {}  // NOLINT: a number is a dim
  static Dim symbol(std::string_view name);
  static Dim invalid();

  bool valid() const RILL_NONBLOCKING;
  bool is_const() const { return sum_ == nullptr; }
  /// Return the value of a constant expression; nothing if it contains symbols.
  std::optional<int64_t> to_int() const noexcept {
    return is_const() ? std::optional<int64_t>(value_) : std::nullopt;
  }
  /// As `to_int`, but otherwise fail with an error that names the expression and its symbols.
  Result<int64_t> as_int() const;
  /// Return the name if the expression is a single symbol.
  std::optional<std::string> as_symbol() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  Dim operator-() const { return Dim(0) - *this; }
  Dim& operator+=(const Dim& b) { return *this = *this + b; }
  Dim& operator*=(const Dim& b) { return *this = *this * b; }
  bool operator==(const Dim& other) const noexcept;

  /// Evaluate. Nothing if a symbol is unbound, the result overflows, or the extents of a broadcast
  /// do not match.
  /// Real-time: no allocation.
  std::optional<int64_t> eval(const Bindings& bindings) const RILL_NONBLOCKING;
  /// As above, with one bound symbol.
  std::optional<int64_t> eval(std::string_view symbol, int64_t value) const RILL_NONBLOCKING;
  /// Replace a symbol by an expression.
  Dim substitute(std::string_view symbol, const Dim& by) const;
  bool mentions(std::string_view symbol) const;
  /// Append the names of all symbols, without duplicates.
  void collect_symbols(std::vector<std::string>* names) const;
  /// Print as an expression that NNEF and the command line accept: "(S+1)/2-1".
  std::string to_string() const;

  /// Return the normal form; null for constants. For this module only.
  const DimSum* sum() const { return sum_.get(); }
  static Dim from_sum(DimSum sum);

 private:
  int64_t value_ = 0;
  std::shared_ptr<const DimSum> sum_;
};

/// Divide, rounding down; `divisor` is positive, else the result is invalid.
Dim floor_div(const Dim& a, int64_t divisor);
/// Divide, rounding up.
Dim ceil_div(const Dim& a, int64_t divisor);
/// Divide if the division is provably exact; else return nothing.
std::optional<Dim> exact_div(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
/// Combine two extents by NumPy's rule: 1 is neutral, equal extents collapse.
Dim broadcast(const Dim& a, const Dim& b);
/// Return 1 if a >= b, else 0.
Dim ge(const Dim& a, const Dim& b);
/// Return 1 if a == b, else 0.
Dim eq(const Dim& a, const Dim& b);

/// A factor of a term: a symbol, or a function of other expressions.
struct DimAtom {
  enum class Kind : uint8_t { kSymbol, kDiv, kMin, kMax, kBroadcast, kGe, kEq, kInvalid };
  Kind kind = Kind::kSymbol;
  std::string text;  ///< canonical spelling; atoms with equal text are equal
  std::vector<Dim> args;
  int64_t divisor = 1;  ///< for kDiv
};

struct DimTerm {
  int64_t coefficient = 1;
  std::vector<std::shared_ptr<const DimAtom>> factors;  ///< sorted by text, at least one
  std::string key;                                      ///< joined texts of the factors
};

struct DimSum {
  int64_t constant = 0;
  std::vector<DimTerm> terms;  ///< sorted by key, no zero coefficient
};

/// Rebuild an expression bottom up. `replace` may return an expression for a symbol; otherwise the
/// symbol stays.
Dim rebuild(const Dim& dim, const std::function<std::optional<Dim>(const DimAtom&)>& replace);

/// Return the product of all extents.
Dim volume(std::span<const Dim> shape);

/// Parse the grammar of assertions and of the command line: `#` (broadcast), `+`, `-`, `*`, `/`,
/// min(), max(), broadcast(), ge(), eq(), symbols, parentheses. `/` binds tightest, and its right
/// side is a number.
/// Errors: kParse, with the text and the column.
Result<Dim> parse_dim(std::string_view text);

}  // namespace rill
