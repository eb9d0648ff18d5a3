#include <algorithm>

#include "core/dim/dim.h"
#include "core/dim/quotient.h"

namespace rill {
namespace {

using Kind = DimAtom::Kind;

std::optional<int64_t> eval_atom(const DimAtom& atom, const Bindings& bindings) {
  if (atom.kind == Kind::kSymbol) {
    for (const auto& [name, value] : bindings) {
      if (name == atom.text) return value;
    }
    return std::nullopt;
  }
  if (atom.kind == Kind::kInvalid) return std::nullopt;
  std::optional<int64_t> result;
  for (const Dim& arg : atom.args) {
    const auto value = arg.eval(bindings);
    if (!value) return std::nullopt;
    if (!result) {
      result = atom.kind == Kind::kDiv ? floored_quotient(*value, atom.divisor) : *value;
      continue;
    }
    switch (atom.kind) {
      case Kind::kMin: result = std::min(*result, *value); break;
      case Kind::kMax: result = std::max(*result, *value); break;
      case Kind::kGe: result = *result >= *value; break;
      case Kind::kEq: result = *result == *value; break;
      case Kind::kBroadcast:
        if (*result != 1 && *value != 1 && *result != *value) return std::nullopt;
        result = *result == 1 ? *value : *result;
        break;
      default: return std::nullopt;
    }
  }
  return result;
}

}  // namespace

std::optional<int64_t> Dim::eval(const Bindings& bindings) const {
  if (!sum_) return value_;
  int64_t total = sum_->constant;
  for (const DimTerm& term : sum_->terms) {
    int64_t product = term.coefficient;
    for (const auto& factor : term.factors) {
      const auto value = eval_atom(*factor, bindings);
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, product, &total)) return std::nullopt;
  }
  return total;
}

}  // namespace rill
