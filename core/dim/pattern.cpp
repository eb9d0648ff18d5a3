#include "core/dim/pattern.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "core/base/checked.h"
#include "core/base/sorted.h"
#include "core/dim/quotient.h"

namespace rill {
namespace {

using Kind = DimAtom::Kind;
using Pieces = std::vector<DimPiece>;

constexpr int64_t kEndless = INT64_MAX;
/// Limits of one expression, in evaluations and in pieces. Shapes of real models need a few
/// hundred.
constexpr int64_t kMostWork = int64_t{1} << 21;
constexpr size_t kMostPieces = 1 << 12;
/// A pattern with a longer period does not repeat within any stream.
constexpr int64_t kMostPeriod = int64_t{1} << 40;

/// Arithmetic that records overflow: an overflow makes the whole pattern unknown.
class Sums {
 public:
  bool ok() const { return ok_; }
  int64_t mul(int64_t a, int64_t b) { return keep(checked_mul(a, b)); }
  int64_t add(int64_t a, int64_t b) { return keep(checked_add(a, b)); }
  int64_t sub(int64_t a, int64_t b) {
    int64_t out = 0;
    return keep(__builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out));
  }

 private:
  int64_t keep(std::optional<int64_t> value) {
    ok_ &= value.has_value();
    return value.value_or(0);
  }
  bool ok_ = true;
};

int64_t ceiled_quotient(int64_t a, int64_t b) {
  const int64_t q = floored_quotient(a, b);
  return q * b == a ? q : q + 1;
}

int64_t length_of(int64_t from, int64_t until) {
  return until == kEndless ? kEndless : until - from;
}

/// Bounds of f itself over [from, until); an end is empty if f is unbounded there.
struct Range {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

Range range_of(const DimPiece& piece, int64_t from, int64_t until) {
  Range out;
  const auto at = [&](int64_t n, int64_t bound) -> std::optional<int64_t> {
    const auto slope = checked_mul(piece.growth, n);
    return slope ? checked_add(*slope, bound) : std::nullopt;
  };
  const int64_t last = until - 1;
  if (until != kEndless || piece.growth >= 0) {
    const auto low = at(piece.growth >= 0 ? from : last, piece.low);
    if (low) out.low = floored_quotient(*low, piece.period);
  }
  if (until != kEndless || piece.growth <= 0) {
    const auto high = at(piece.growth <= 0 ? from : last, piece.high);
    if (high) out.high = ceiled_quotient(*high, piece.period);
  }
  return out;
}

/// Set the period of an exact line to 1.
DimPiece normal(DimPiece piece) {
  if (piece.low != piece.high || piece.period == 1) return piece;
  if (piece.growth % piece.period != 0 || piece.low % piece.period != 0) return piece;
  piece.growth /= piece.period;
  piece.low = piece.high = piece.low / piece.period;
  piece.period = 1;
  return piece;
}

bool is_line(const DimPiece& piece) { return piece.period == 1 && piece.low == piece.high; }
bool is_number(const DimPiece& piece) { return is_line(piece) && piece.growth == 0; }

DimPiece number(int64_t from, int64_t value) { return {from, 1, 0, value, value}; }

/// Append a piece; drop it if it continues the line of the last one.
void append(Pieces* to, DimPiece piece) {
  piece = normal(piece);
  if (!to->empty()) {
    const DimPiece& last = to->back();
    if (is_line(last) && is_line(piece) && last.growth == piece.growth && last.low == piece.low) {
      return;
    }
  }
  to->push_back(piece);
}

/// Return a piece with bounds only; nothing if it has none.
std::optional<DimPiece> bounded(int64_t from, int64_t until, const Range& range) {
  if (until == kEndless || !range.low || !range.high) return std::nullopt;
  const int64_t length = until - from;
  const auto low = checked_mul(*range.low, length);
  const auto high = checked_mul(*range.high, length);
  if (!low || !high) return std::nullopt;
  return DimPiece{from, length, 0, *low, *high};
}

/// Computes the pattern of an expression bottom up.
class Maker {
 public:
  explicit Maker(std::string_view symbol) : symbol_(symbol), at_{{symbol_, 0}} {}

  std::optional<Pieces> of(const Dim& dim);
  /// Return 1 where a difference is >= 0 (kGe) or == 0 (kEq), and 0 elsewhere.
  std::optional<Pieces> indicator(const Dim& difference, Kind kind);

 private:
  using Parts = std::span<const DimPiece>;
  using Combine = std::function<bool(int64_t from, int64_t until, Parts parts, Pieces* out)>;

  std::optional<Pieces> of_atom(const DimAtom& atom);
  std::optional<Pieces> of_term(const DimTerm& term);
  std::optional<Pieces> quotient(const Pieces& numerator, int64_t divisor);
  std::optional<Pieces> chosen(const Pieces& choice, const Pieces& yes, const Pieces& no);
  std::optional<Pieces> together(std::span<const Pieces> all, const Combine& combine);
  bool decide(const Dim& difference, Kind kind, int64_t from, int64_t until, Pieces* out);
  bool steady_choice(const Dim& difference, Kind kind, const DimPiece& piece, int64_t until,
                     Pieces* out);

  std::string symbol_;
  Bindings at_;
  int64_t work_ = 0;
};

/// Convert pieces of one range to a common period. Return false if it exceeds the limits.
bool align(int64_t from, int64_t until, std::vector<DimPiece>* parts) {
  const int64_t length = length_of(from, until);
  int64_t period = 1;
  for (const DimPiece& part : *parts) {
    const auto common = checked_mul(period / std::gcd(period, part.period), part.period);
    if (!common || *common > kMostPeriod) {
      period = kEndless;
      break;
    }
    period = *common;
  }
  if (period >= length) {
    for (DimPiece& part : *parts) {
      if (is_number(part)) {
        part = {from, length, 0, part.low, part.high};
        Sums sums;
        if (until == kEndless) return false;
        part.low = part.high = sums.mul(part.low, length);
        if (!sums.ok()) return false;
        continue;
      }
      const auto known = bounded(from, until, range_of(part, from, until));
      if (!known) return false;
      part = *known;
    }
    return true;
  }
  Sums sums;
  for (DimPiece& part : *parts) {
    const int64_t times = period / part.period;
    part.from = from;
    part.period = period;
    part.growth = sums.mul(part.growth, times);
    part.low = sums.mul(part.low, times);
    part.high = sums.mul(part.high, times);
  }
  return sums.ok();
}

std::optional<Pieces> Maker::together(std::span<const Pieces> all, const Combine& combine) {
  std::vector<int64_t> begins;
  for (const Pieces& pieces : all) {
    for (const DimPiece& piece : pieces) begins.push_back(piece.from);
  }
  sort_list(begins);
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  std::vector<size_t> now(all.size(), 0);
  Pieces out;
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t from = begins[i];
    const int64_t until = i + 1 < begins.size() ? begins[i + 1] : kEndless;
    std::vector<DimPiece> parts;
    for (size_t k = 0; k < all.size(); ++k) {
      while (now[k] + 1 < all[k].size() && all[k][now[k] + 1].from <= from) ++now[k];
      parts.push_back(all[k][now[k]]);
      parts.back().from = from;
    }
    if (!combine(from, until, parts, &out) || out.size() > kMostPieces) return std::nullopt;
  }
  return out;
}

bool Maker::decide(const Dim& difference, Kind kind, int64_t from, int64_t until, Pieces* out) {
  if (until == kEndless || until - from > kMostWork - work_) return false;
  work_ += until - from;
  Pieces runs;
  for (int64_t n = from; n < until; ++n) {
    at_[0].second = n;
    const int64_t value = difference.eval(at_).value_or(0);
    append(&runs, number(n, kind == Kind::kGe ? value >= 0 : value == 0));
    if (runs.size() > kMostPieces) return false;
  }
  for (const DimPiece& run : runs) append(out, run);
  return true;
}

/// Append the indicator of a difference that does not grow.
bool Maker::steady_choice(const Dim& difference, Kind kind, const DimPiece& piece, int64_t until,
                          Pieces* out) {
  const bool never = piece.high < 0 || (kind == Kind::kEq && piece.low > 0);
  const bool always = kind == Kind::kGe ? piece.low >= 0 : piece.low == 0 && piece.high == 0;
  if (never || always) {
    append(out, number(piece.from, always ? 1 : 0));
    return true;
  }
  const int64_t length = length_of(piece.from, until);
  if (length <= piece.period) return decide(difference, kind, piece.from, until, out);
  // One period shows whether the indicator is constant.
  Pieces shown;
  if (decide(difference, kind, piece.from, piece.from + piece.period, &shown) &&
      shown.size() == 1) {
    append(out, number(piece.from, shown[0].low));
    return true;
  }
  append(out, {piece.from, piece.period, 0, 0, piece.period});
  return true;
}

std::optional<Pieces> Maker::indicator(const Dim& difference, Kind kind) {
  const auto pieces = of(difference);
  if (!pieces) return std::nullopt;
  const auto one = [&](int64_t from, int64_t until, Parts parts, Pieces* out) {
    const DimPiece& piece = parts[0];
    if (piece.growth == 0) return steady_choice(difference, kind, piece, until, out);
    // Far from the crossing, the sign of the growth decides.
    const bool rises = piece.growth > 0;
    Sums sums;
    const int64_t slope = rises ? piece.growth : sums.sub(0, piece.growth);
    const int64_t first = rises ? sums.sub(0, piece.high) : piece.low;
    const int64_t last = rises ? sums.sub(0, piece.low) : piece.high;
    if (!sums.ok()) return false;
    const int64_t begin = std::clamp(ceiled_quotient(first, slope), from, until);
    const int64_t end = std::clamp(floored_quotient(last, slope) + 1, begin, until);
    const auto sure = [&](bool above) { return kind == Kind::kGe && above ? 1 : 0; };
    if (begin > from) append(out, number(from, sure(!rises)));
    if (end > begin && !decide(difference, kind, begin, end, out)) return false;
    if (end < until) append(out, number(end, sure(rises)));
    return true;
  };
  return together(std::span(&*pieces, 1), one);
}

std::optional<Pieces> Maker::chosen(const Pieces& choice, const Pieces& yes, const Pieces& no) {
  const std::vector<Pieces> all = {choice, yes, no};
  return together(all, [](int64_t from, int64_t until, Parts parts, Pieces* out) {
    if (is_number(parts[0])) {
      append(out, parts[0].low != 0 ? parts[1] : parts[2]);
      return true;
    }
    std::vector<DimPiece> same(parts.begin(), parts.end());
    if (align(from, until, &same) && same[1].growth == same[2].growth) {
      append(out, {from, same[1].period, same[1].growth, std::min(same[1].low, same[2].low),
                   std::max(same[1].high, same[2].high)});
      return true;
    }
    const Range a = range_of(parts[1], from, until);
    const Range b = range_of(parts[2], from, until);
    if (!a.low || !b.low || !a.high || !b.high) return false;
    const auto either =
        bounded(from, until, {std::min(*a.low, *b.low), std::max(*a.high, *b.high)});
    if (either) append(out, *either);
    return either.has_value();
  });
}

std::optional<Pieces> Maker::quotient(const Pieces& numerator, int64_t divisor) {
  return together(std::span(&numerator, 1), [&](int64_t from, int64_t until, Parts parts,
                                                 Pieces* out) {
    const DimPiece& x = parts[0];
    const int64_t times = divisor / std::gcd(std::abs(x.growth), divisor);
    Sums sums;
    DimPiece piece;
    piece.from = from;
    piece.period = sums.mul(x.period, times);
    piece.growth = sums.mul(x.growth, times) / divisor;
    // Rounding down subtracts at most (divisor - 1) / divisor.
    const int64_t rounded = sums.mul(x.period, divisor - 1);
    piece.low = floored_quotient(sums.mul(sums.sub(x.low, rounded), times), divisor);
    piece.high = floored_quotient(sums.mul(x.high, times), divisor);
    if (sums.ok() && piece.period <= kMostPeriod && piece.period < length_of(from, until)) {
      append(out, piece);
      return true;
    }
    Range range = range_of(x, from, until);
    if (range.low) range.low = floored_quotient(*range.low, divisor);
    if (range.high) range.high = floored_quotient(*range.high, divisor);
    const auto known = bounded(from, until, range);
    if (known) append(out, *known);
    return known.has_value();
  });
}

std::optional<Pieces> Maker::of_atom(const DimAtom& atom) {
  if (atom.kind == Kind::kSymbol) {
    if (atom.text != symbol_) return std::nullopt;
    return Pieces{{0, 1, 1, 0, 0}};
  }
  if (atom.kind == Kind::kInvalid) return std::nullopt;
  if (atom.kind == Kind::kGe || atom.kind == Kind::kEq) {
    return indicator(atom.args[0] - atom.args[1], atom.kind);
  }
  auto out = of(atom.args[0]);
  if (out && atom.kind == Kind::kDiv) return quotient(*out, atom.divisor);
  Dim so_far = atom.args[0];
  for (size_t i = 1; i < atom.args.size() && out; ++i) {
    const Dim& arg = atom.args[i];
    const auto other = of(arg);
    if (!other) return std::nullopt;
    if (atom.kind == Kind::kBroadcast) {
      const auto neutral = indicator(so_far - Dim(1), Kind::kEq);
      out = neutral ? chosen(*neutral, *other, *out) : std::nullopt;
      so_far = broadcast(so_far, arg);
      continue;
    }
    const bool is_min = atom.kind == Kind::kMin;
    const auto keeps = indicator(is_min ? arg - so_far : so_far - arg, Kind::kGe);
    out = keeps ? chosen(*keeps, *out, *other) : std::nullopt;
    so_far = is_min ? min(so_far, arg) : max(so_far, arg);
  }
  return out;
}

/// Return the pattern of a product. Wherever one factor grows, the others must be numbers.
std::optional<Pieces> Maker::of_term(const DimTerm& term) {
  Pieces product = {number(0, term.coefficient)};
  for (const auto& factor : term.factors) {
    const auto one = of_atom(*factor);
    if (!one) return std::nullopt;
    const std::vector<Pieces> both = {product, *one};
    auto next = together(both, [](int64_t from, int64_t until, Parts parts, Pieces* out) {
      const DimPiece& a = is_number(parts[0]) ? parts[0] : parts[1];
      const DimPiece& b = is_number(parts[0]) ? parts[1] : parts[0];
      Sums sums;
      if (is_number(a)) {
        DimPiece piece{from, b.period, sums.mul(b.growth, a.low), sums.mul(b.low, a.low),
                       sums.mul(b.high, a.low)};
        if (piece.low > piece.high) std::swap(piece.low, piece.high);
        append(out, piece);
        return sums.ok();
      }
      const Range x = range_of(a, from, until);
      const Range y = range_of(b, from, until);
      if (!x.low || !x.high || !y.low || !y.high) return false;
      const auto corners = {sums.mul(*x.low, *y.low), sums.mul(*x.low, *y.high),
                            sums.mul(*x.high, *y.low), sums.mul(*x.high, *y.high)};
      if (!sums.ok()) return false;
      std::vector<DimPiece> same = {a, b};
      if (align(from, until, &same) && same[0].growth == 0 && same[1].growth == 0) {
        const int64_t period = same[0].period;
        append(out, {from, period, 0, sums.mul(std::min(corners), period),
                     sums.mul(std::max(corners), period)});
        return sums.ok();
      }
      const auto known = bounded(from, until, {std::min(corners), std::max(corners)});
      if (known) append(out, *known);
      return known.has_value();
    });
    if (!next) return std::nullopt;
    product = std::move(*next);
  }
  return product;
}

std::optional<Pieces> Maker::of(const Dim& dim) {
  if (const auto value = dim.to_int()) return Pieces{number(0, *value)};
  Pieces total = {number(0, dim.sum()->constant)};
  for (const DimTerm& term : dim.sum()->terms) {
    const auto one = of_term(term);
    if (!one) return std::nullopt;
    const std::vector<Pieces> both = {total, *one};
    auto next = together(both, [](int64_t from, int64_t until, Parts parts, Pieces* out) {
      std::vector<DimPiece> same(parts.begin(), parts.end());
      if (!align(from, until, &same)) return false;
      Sums sums;
      append(out, {from, same[0].period, sums.add(same[0].growth, same[1].growth),
                   sums.add(same[0].low, same[1].low), sums.add(same[0].high, same[1].high)});
      return sums.ok();
    });
    if (!next) return std::nullopt;
    total = std::move(*next);
  }
  return total;
}

Status unknown(const Dim& dim, std::string_view symbol) {
  return fail(Code::kShape, "the expression ", dim, " has no known period as ", symbol, " grows");
}

}  // namespace

Result<DimPattern> DimPattern::of(const Dim& dim, std::string_view symbol) {
  DimPattern out(dim, symbol);
  auto pieces = dim.valid() ? Maker(symbol).of(dim) : std::nullopt;
  if (!pieces) return unknown(dim, symbol);
  out.pieces_ = std::move(*pieces);
  return out;
}

Result<std::optional<int64_t>> DimPattern::least(int64_t from) const {
  Bindings at = {{symbol_, 0}};
  std::optional<int64_t> best = kEndless;
  int64_t work = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const DimPiece& piece = pieces_[i];
    const int64_t until = i + 1 < pieces_.size() ? pieces_[i + 1].from : kEndless;
    int64_t begin = std::max(from, piece.from);
    if (begin >= until) continue;
    if (until == kEndless && piece.growth < 0) return std::optional<int64_t>();
    const Range range = range_of(piece, begin, until);
    if (range.low && *range.low >= *best) continue;
    int64_t count = length_of(begin, until);
    if (count > piece.period) {
      count = piece.period;
      if (piece.growth < 0) begin = until - count;
    }
    if (count > kMostWork - work) return unknown(dim_, symbol_);
    work += count;
    for (int64_t n = begin; n < begin + count; ++n) {
      at[0].second = n;
      if (const auto value = dim_.eval(at)) best = std::min(*best, *value);
    }
  }
  return best;
}

Result<std::optional<int64_t>> DimPattern::greatest(int64_t from) const {
  DimPattern negative(-dim_, symbol_);
  for (DimPiece piece : pieces_) {
    piece.growth = -piece.growth;
    std::swap(piece.low, piece.high);
    piece.low = -piece.low;
    piece.high = -piece.high;
    negative.pieces_.push_back(piece);
  }
  RILL_ASSIGN(const std::optional<int64_t> least, negative.least(from));
  return least ? std::optional(-*least) : std::nullopt;
}

Result<std::optional<int64_t>> DimPattern::last_non_negative() const {
  Bindings at = {{symbol_, 0}};
  int64_t work = 0;
  for (size_t i = pieces_.size(); i-- > 0;) {
    const DimPiece& piece = pieces_[i];
    const int64_t until = i + 1 < pieces_.size() ? pieces_[i + 1].from : kEndless;
    if (until == kEndless && piece.growth > 0) return std::optional<int64_t>();
    int64_t last = until - 1;
    if (until == kEndless) {
      // For a piece without growth, one period suffices. For a falling piece, search up to where
      // its upper bound becomes negative.
      if (piece.growth == 0) {
        last = piece.high < 0 ? piece.from - 1 : piece.from + piece.period - 1;
      } else {
        last = floored_quotient(piece.high, -piece.growth);
      }
    }
    const int64_t first = piece.growth < 0 ? piece.from
                                           : std::max(piece.from, last - piece.period + 1);
    for (int64_t n = last; n >= first; --n) {
      if (++work > kMostWork) return unknown(dim_, symbol_);
      at[0].second = n;
      const auto value = dim_.eval(at);
      if (value && *value < 0) continue;
      if (until == kEndless && piece.growth == 0) return std::optional<int64_t>();
      return std::optional(n);
    }
  }
  return std::optional<int64_t>(-1);
}

Result<std::optional<int64_t>> DimPattern::even_growth() const {
  const DimPiece& piece = pieces_.back();
  if (piece.growth % piece.period != 0) return std::optional<int64_t>();
  const int64_t step = piece.growth / piece.period;
  if (piece.period == 1) return std::optional(step);
  if (piece.period > kMostWork) return unknown(dim_, symbol_);
  Bindings at = {{symbol_, piece.from}};
  auto before = dim_.eval(at);
  for (int64_t i = 1; i <= piece.period && before; ++i) {
    at[0].second = piece.from + i;
    const auto now = dim_.eval(at);
    if (!now || *now - *before != step) return std::optional<int64_t>();
    before = now;
  }
  return before ? std::optional(step) : std::nullopt;
}

Result<std::optional<int64_t>> least_even_step(const Dim& dim, std::string_view symbol,
                                               int64_t most) {
  RILL_ASSIGN(const DimPattern whole, DimPattern::of(dim, symbol));
  if (whole.growth() <= 0) return std::optional<int64_t>();
  const int64_t period = whole.period();
  // Even steps divide the period, and their multiples have every remainder.
  const auto even = [&](int64_t step) -> Result<bool> {
    const Dim stepped = dim.substitute(symbol, Dim(step) * Dim::symbol(symbol));
    RILL_ASSIGN(const DimPattern pattern, DimPattern::of(stepped, symbol));
    RILL_ASSIGN(const std::optional<int64_t> growth, pattern.even_growth());
    return growth && *growth > 0;
  };
  std::vector<int64_t> large;
  for (int64_t step = 1; step <= period / step; ++step) {
    if (step > kMostWork) return unknown(dim, symbol);
    if (period % step != 0) continue;
    if (step > most) return std::optional<int64_t>();
    RILL_ASSIGN(const bool found, even(step));
    if (found) return std::optional(step);
    large.push_back(period / step);
  }
  for (size_t i = large.size(); i-- > 0;) {
    if (large[i] > most) break;
    RILL_ASSIGN(const bool found, even(large[i]));
    if (found) return std::optional(large[i]);
  }
  return std::optional<int64_t>();
}

bool never_falls(const Dim& dim, std::string_view symbol) {
  if (!dim.sum()) return true;
  for (const DimTerm& term : dim.sum()->terms) {
    if (term.coefficient < 0 || term.factors.size() != 1) return false;
    const DimAtom& atom = *term.factors[0];
    if (atom.kind == Kind::kSymbol && atom.text == symbol) continue;
    if (atom.kind != Kind::kDiv && atom.kind != Kind::kMin && atom.kind != Kind::kMax) return false;
    for (const Dim& arg : atom.args) {
      if (!never_falls(arg, symbol)) return false;
    }
  }
  return true;
}

}  // namespace rill
