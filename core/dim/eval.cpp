#include <algorithm>

#include "core/dim/dim.h"
#include "core/dim/quotient.h"

namespace rill {
namespace {

using Kind = DimAtom::Kind;

/// The values of symbols, by their names.
struct Many {
  const Bindings& all;
  std::optional<int64_t> operator()(std::string_view symbol) const {
    for (const auto& [name, value] : all) {
      if (name == symbol) return value;
    }
    return std::nullopt;
  }
};
struct One {
  std::string_view name;
  int64_t value;
  std::optional<int64_t> operator()(std::string_view symbol) const {
    return name == symbol ? std::optional<int64_t>(value) : std::nullopt;
  }
};

template <class Values>
std::optional<int64_t> eval_dim(const Dim& dim, const Values& values);

template <class Values>
std::optional<int64_t> eval_atom(const DimAtom& atom, const Values& values) {
  if (atom.kind == Kind::kSymbol) return values(atom.text);
  if (atom.kind == Kind::kInvalid) return std::nullopt;
  std::optional<int64_t> result;
  for (const Dim& arg : atom.args) {
    const auto value = eval_dim(arg, values);
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

template <class Values>
std::optional<int64_t> eval_dim(const Dim& dim, const Values& values) {
  if (dim.is_const()) return dim.to_int();
  int64_t total = dim.sum()->constant;
  for (const DimTerm& term : dim.sum()->terms) {
    int64_t product = term.coefficient;
    for (const auto& factor : term.factors) {
      const auto value = eval_atom(*factor, values);
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, product, &total)) return std::nullopt;
  }
  return total;
}

}  // namespace

std::optional<int64_t> Dim::eval(const Bindings& bindings) const {
  return eval_dim(*this, Many{bindings});
}

std::optional<int64_t> Dim::eval(std::string_view symbol, int64_t value) const {
  return eval_dim(*this, One{symbol, value});
}

}  // namespace rill
