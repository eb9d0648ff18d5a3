#include "core/dim/bound.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/checked.h"
#include "core/dim/pattern.h"
#include "core/dim/quotient.h"

namespace rill {
namespace {

using Kind = DimAtom::Kind;

/// A range of values; an end is empty if the range is unbounded there.
struct Range {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

Range range_of(const Dim& dim);

Range range_of(const DimAtom& atom) {
  switch (atom.kind) {
    case Kind::kGe:
    case Kind::kEq:
      return {0, 1};
    case Kind::kDiv: {
      Range out = range_of(atom.args[0]);
      if (out.low) out.low = floored_quotient(*out.low, atom.divisor);
      if (out.high) out.high = floored_quotient(*out.high, atom.divisor);
      return out;
    }
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kBroadcast: {
      Range out = range_of(atom.args[0]);
      for (size_t i = 1; i < atom.args.size(); ++i) {
        const Range other = range_of(atom.args[i]);
        const bool both_low = out.low && other.low;
        const bool both_high = out.high && other.high;
        if (atom.kind == Kind::kMin) {
          out.low = both_low ? std::optional(std::min(*out.low, *other.low)) : std::nullopt;
          if (other.high) out.high = std::min(out.high.value_or(*other.high), *other.high);
        } else {
          if (other.low) out.low = std::max(out.low.value_or(*other.low), *other.low);
          out.high = both_high ? std::optional(std::max(*out.high, *other.high)) : std::nullopt;
        }
      }
      return out;
    }
    default:
      return {0, std::nullopt};  // symbols are extents, so at least 0
  }
}

Range range_of(const DimTerm& term) {
  Range product{1, 1};
  for (const auto& factor : term.factors) {
    const Range one = range_of(*factor);
    if (term.factors.size() == 1) {
      product = one;
      break;
    }
    const bool above = one.low && *one.low >= 0 && product.low && *product.low >= 0;
    if (!above) return {};
    product.low = checked_mul(*product.low, *one.low);
    product.high = product.high && one.high ? checked_mul(*product.high, *one.high) : std::nullopt;
  }
  if (term.coefficient < 0) std::swap(product.low, product.high);
  for (auto* side : {&product.low, &product.high}) {
    if (*side) *side = checked_mul(**side, term.coefficient);
  }
  return product;
}

Range range_of(const Dim& dim) {
  if (const auto number = dim.to_int()) return {*number, *number};
  Range total{dim.sum()->constant, dim.sum()->constant};
  for (const DimTerm& term : dim.sum()->terms) {
    const Range one = range_of(term);
    total.low = total.low && one.low ? checked_add(*total.low, *one.low) : std::nullopt;
    total.high = total.high && one.high ? checked_add(*total.high, *one.high) : std::nullopt;
  }
  return total;
}

}  // namespace

std::optional<int64_t> bound_of(const Dim& length) {
  if (const auto number = length.to_int()) return number;
  if (!length.valid()) return std::nullopt;
  std::vector<std::string> symbols;
  length.collect_symbols(&symbols);
  if (symbols.size() == 1) {
    if (const auto pattern = DimPattern::of(length, symbols[0]); pattern.ok()) {
      const auto most = pattern->greatest(0);
      if (most.ok() && *most && **most > INT64_MIN) return *most;
      if (most.ok()) return std::nullopt;
    }
  }
  return range_of(length).high;
}

}  // namespace rill
