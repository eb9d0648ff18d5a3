#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dim/dim.h"

namespace rill {

/// A range of the symbol in which an expression f is periodic: f(n + period) == f(n) + growth
/// wherever n and n + period both lie in the range. In a range no longer than its period, only the
/// bounds of f are known.
struct DimPiece {
  int64_t from = 0;    ///< the first n; the piece ends where the next one begins
  int64_t period = 1;  ///< at least 1
  int64_t growth = 0;
  /// low <= period * f(n) - growth * n <= high.
  int64_t low = 0;
  int64_t high = 0;
};

/// An expression in one symbol, an extent n >= 0, for all n: a finite list of pieces; the last one
/// has no end. To prove a property for all lengths, it suffices to check one period at each end of
/// every piece.
class DimPattern {
 public:
  /// Return the pattern of an expression. Errors: kShape, naming the expression, if it has another
  /// symbol, grows faster than linearly, or exceeds the limits of pieces or work.
  static Result<DimPattern> of(const Dim& dim, std::string_view symbol);

  const std::vector<DimPiece>& pieces() const { return pieces_; }
  /// Return the smallest n from which the expression repeats with `period` and `growth`.
  int64_t settled() const { return pieces_.back().from; }
  int64_t period() const { return pieces_.back().period; }
  int64_t growth() const { return pieces_.back().growth; }

  /// Return the minimum over all n >= from at which the expression is defined. Nothing if there is
  /// no lower bound; INT64_MAX if the expression is undefined everywhere. Errors: kShape, as for
  /// `of`.
  Result<std::optional<int64_t>> least(int64_t from) const;
  /// Return the maximum over all n >= from, as for `least`; INT64_MIN if the expression is
  /// undefined everywhere.
  Result<std::optional<int64_t>> greatest(int64_t from) const;
  /// Return the last n >= 0 at which the expression is >= 0 or undefined. Nothing if there are such
  /// n without end; -1 if there is none. Errors: kShape, as for `of`.
  Result<std::optional<int64_t>> last_non_negative() const;
  /// Return the growth of the expression from n to n + 1, for all n >= settled(). Nothing if it
  /// differs between values of n. Errors: kShape, as for `of`.
  Result<std::optional<int64_t>> even_growth() const;

 private:
  DimPattern(const Dim& dim, std::string_view symbol) : dim_(dim), symbol_(symbol) {}

  Dim dim_;
  std::string symbol_;
  std::vector<DimPiece> pieces_;
};

/// Return whether the expression provably never decreases as the symbol grows; false means unknown.
bool never_falls(const Dim& dim, std::string_view symbol);

/// Find the least step > 0 of the symbol over whose multiples the expression eventually grows by a
/// constant >= 1. Every multiple of this step qualifies too. Nothing if no step up to `most`
/// qualifies.
/// Errors: kShape, as for `DimPattern::of`.
Result<std::optional<int64_t>> least_even_step(const Dim& dim, std::string_view symbol,
                                               int64_t most);

}  // namespace rill
