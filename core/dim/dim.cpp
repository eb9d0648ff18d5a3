#include "core/dim/dim.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/dim/quotient.h"

namespace rill {
namespace {

using AtomPtr = std::shared_ptr<const DimAtom>;
using Kind = DimAtom::Kind;

// The maximum size of an expression. A larger one is useless as a shape, and may be hostile.
constexpr size_t kMaxTerms = 256;

Dim from_atom(AtomPtr atom) {
  DimSum sum;
  std::string key = atom->text;
  sum.terms.push_back({1, {std::move(atom)}, std::move(key)});
  return Dim::from_sum(std::move(sum));
}

AtomPtr make_atom(Kind kind, std::string text, std::vector<Dim> args, int64_t divisor = 1) {
  auto atom = std::make_shared<DimAtom>();
  atom->kind = kind;
  atom->text = std::move(text);
  atom->args = std::move(args);
  atom->divisor = divisor;
  return atom;
}

/// Return whether an atom is within limits; the parentheses of its text give its depth.
bool fits(std::string_view text) {
  if (text.size() > kMostDimText) return false;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth > kMaxDimDepth) return false;
  }
  return true;
}

std::string term_key(const std::vector<AtomPtr>& factors) {
  std::string key;
  for (const AtomPtr& factor : factors) {
    if (!key.empty()) key += '*';
    key += factor->text;
  }
  return key;
}

/// Add terms with equal keys. Return false if a coefficient overflows.
bool add_terms(std::map<std::string, DimTerm>* into, const std::vector<DimTerm>& terms,
               int64_t sign) {
  for (const DimTerm& term : terms) {
    auto [it, fresh] = into->try_emplace(term.key, term);
    const auto signed_coefficient = checked_mul(term.coefficient, sign);
    if (!signed_coefficient) return false;
    if (fresh) {
      it->second.coefficient = *signed_coefficient;
      continue;
    }
    const auto sum = checked_add(it->second.coefficient, *signed_coefficient);
    if (!sum) return false;
    it->second.coefficient = *sum;
  }
  return true;
}

Dim from_terms(std::map<std::string, DimTerm> terms, int64_t constant) {
  if (terms.size() > kMaxTerms) return Dim::invalid();
  DimSum sum;
  sum.constant = constant;
  size_t text = 0;
  for (auto& [key, term] : terms) {
    text += key.size();
    if (term.coefficient != 0) sum.terms.push_back(std::move(term));
  }
  if (text > kMostDimText) return Dim::invalid();
  return Dim::from_sum(std::move(sum));
}

Dim add_scaled(const Dim& a, const Dim& b, int64_t sign) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  std::map<std::string, DimTerm> terms;
  int64_t constant = 0;
  for (const auto& [dim, factor] : {std::pair<const Dim*, int64_t>{&a, 1}, {&b, sign}}) {
    const int64_t own = dim->sum() ? dim->sum()->constant : *dim->to_int();
    const auto scaled = checked_mul(own, factor);
    const auto total = scaled ? checked_add(constant, *scaled) : std::nullopt;
    if (!total) return Dim::invalid();
    constant = *total;
    if (dim->sum() && !add_terms(&terms, dim->sum()->terms, factor)) return Dim::invalid();
  }
  return from_terms(std::move(terms), constant);
}

int64_t constant_of(const Dim& dim) { return dim.sum() ? dim.sum()->constant : *dim.to_int(); }

/// Return the difference a - b if it is a constant.
std::optional<int64_t> constant_difference(const Dim& a, const Dim& b) { return (a - b).to_int(); }

Dim extremum(Kind kind, const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  std::vector<Dim> operands;
  for (const Dim* side : {&a, &b}) {
    const DimSum* sum = side->sum();
    const bool nested = sum && sum->constant == 0 && sum->terms.size() == 1 &&
                        sum->terms[0].coefficient == 1 && sum->terms[0].factors.size() == 1 &&
                        sum->terms[0].factors[0]->kind == kind;
    if (nested) {
      operands.insert(operands.end(), sum->terms[0].factors[0]->args.begin(),
                      sum->terms[0].factors[0]->args.end());
    } else {
      operands.push_back(*side);
    }
  }
  std::vector<Dim> kept;
  for (const Dim& operand : operands) {
    bool redundant = false;
    for (Dim& other : kept) {
      const auto difference = constant_difference(operand, other);
      if (!difference) continue;
      redundant = true;
      if ((kind == Kind::kMin) == (*difference < 0) && *difference != 0) other = operand;
      break;
    }
    if (!redundant) kept.push_back(operand);
  }
  if (kept.size() == 1) return kept[0];
  std::vector<std::string> texts;
  for (const Dim& operand : kept) texts.push_back(operand.to_string());
  const std::vector<size_t> order =
      sorted_order(kept.size(), [&](size_t x, size_t y) { return texts[x] < texts[y]; });
  std::vector<Dim> args;
  std::string text = kind == Kind::kMin ? "min(" : "max(";
  for (const size_t i : order) {
    if (!args.empty()) text += ", ";
    text += texts[i];
    args.push_back(kept[i]);
  }
  text += ")";
  if (!fits(text)) return Dim::invalid();
  return from_atom(make_atom(kind, std::move(text), std::move(args)));
}

Dim comparison(Kind kind, const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (!difference.valid()) return Dim::invalid();
  if (const auto value = difference.to_int()) {
    return Dim(kind == Kind::kGe ? *value >= 0 : *value == 0);
  }
  std::string text = str_cat(kind == Kind::kGe ? "ge(" : "eq(", a, ", ", b, ")");
  if (!fits(text)) return Dim::invalid();
  return from_atom(make_atom(kind, std::move(text), {a, b}));
}

}  // namespace

Dim Dim::from_sum(DimSum sum) {
  Dim dim;
  dim.value_ = sum.constant;
  if (!sum.terms.empty()) dim.sum_ = std::make_shared<const DimSum>(std::move(sum));
  return dim;
}

Dim Dim::symbol(std::string_view name) {
  return from_atom(make_atom(Kind::kSymbol, std::string(name), {}));
}

Dim Dim::invalid() { return from_atom(make_atom(Kind::kInvalid, "?", {})); }

bool Dim::valid() const {
  if (!sum_) return true;
  for (const DimTerm& term : sum_->terms) {
    for (const AtomPtr& factor : term.factors) {
      if (factor->kind == Kind::kInvalid) return false;
    }
  }
  return true;
}

Result<int64_t> Dim::as_int() const {
  if (is_const()) return value_;
  if (!valid()) return fail(Code::kShape, "expected a number, found one beyond 64 bits");
  std::vector<std::string> names;
  collect_symbols(&names);
  return fail(Code::kSymbol, "expected a number, found ", *this, " with unbound symbol ",
              join(names, ", "))
      .hint(str_cat("Set it, as in --set ", names[0], "=100"));
}

std::optional<std::string> Dim::as_symbol() const {
  if (!sum_ || sum_->constant != 0 || sum_->terms.size() != 1) return std::nullopt;
  const DimTerm& term = sum_->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return std::nullopt;
  if (term.factors[0]->kind != Kind::kSymbol) return std::nullopt;
  return term.factors[0]->text;
}

Dim operator+(const Dim& a, const Dim& b) { return add_scaled(a, b, 1); }
Dim operator-(const Dim& a, const Dim& b) { return add_scaled(a, b, -1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  const auto constant = checked_mul(constant_of(a), constant_of(b));
  if (!constant) return Dim::invalid();
  std::map<std::string, DimTerm> terms;
  for (const auto& [one, other] : {std::pair{&a, &b}, {&b, &a}}) {
    const int64_t factor = constant_of(*other);
    if (one->sum() && factor != 0 && !add_terms(&terms, one->sum()->terms, factor)) {
      return Dim::invalid();
    }
  }
  if (a.sum() && b.sum()) {
    if (a.sum()->terms.size() * b.sum()->terms.size() > kMaxTerms) return Dim::invalid();
    for (const DimTerm& x : a.sum()->terms) {
      for (const DimTerm& y : b.sum()->terms) {
        DimTerm product;
        const auto coefficient = checked_mul(x.coefficient, y.coefficient);
        if (!coefficient) return Dim::invalid();
        product.coefficient = *coefficient;
        product.factors = x.factors;
        product.factors.insert(product.factors.end(), y.factors.begin(), y.factors.end());
        sort_list(product.factors,
                  [](const AtomPtr& p, const AtomPtr& q) { return p->text < q->text; });
        product.key = term_key(product.factors);
        if (product.key.size() > kMostDimText) return Dim::invalid();
        if (!add_terms(&terms, {product}, 1)) return Dim::invalid();
      }
    }
  }
  return from_terms(std::move(terms), *constant);
}

bool Dim::operator==(const Dim& other) const noexcept {
  if (!sum_ || !other.sum_) return !sum_ && !other.sum_ && value_ == other.value_;
  if (!valid() || !other.valid()) return false;
  if (sum_ == other.sum_) return true;
  if (sum_->constant != other.sum_->constant) return false;
  if (sum_->terms.size() != other.sum_->terms.size()) return false;
  for (size_t i = 0; i < sum_->terms.size(); ++i) {
    if (sum_->terms[i].coefficient != other.sum_->terms[i].coefficient) return false;
    if (sum_->terms[i].key != other.sum_->terms[i].key) return false;
  }
  return true;
}

Dim floor_div(const Dim& a, int64_t divisor) {
  if (divisor <= 0 || !a.valid()) return Dim::invalid();
  if (divisor == 1) return a;
  if (const auto value = a.to_int()) return floored_quotient(*value, divisor);
  // (divisor*q + r)/divisor = q + r/divisor, with 0 <= coefficient < divisor left inside.
  DimSum inside;
  DimSum outside;
  int64_t common = divisor;
  for (const DimTerm& term : a.sum()->terms) {
    const int64_t quotient = floored_quotient(term.coefficient, divisor);
    const int64_t rest = term.coefficient - quotient * divisor;
    if (quotient != 0) outside.terms.push_back({quotient, term.factors, term.key});
    if (rest != 0) inside.terms.push_back({rest, term.factors, term.key});
    common = std::gcd(common, rest);
  }
  outside.constant = floored_quotient(a.sum()->constant, divisor);
  inside.constant = a.sum()->constant - outside.constant * divisor;
  const Dim whole = Dim::from_sum(std::move(outside));
  if (inside.terms.empty()) return whole;
  // Divide divisor and coefficients by their common factor, rounding the constant down.
  for (DimTerm& term : inside.terms) term.coefficient /= common;
  inside.constant = floored_quotient(inside.constant, common);
  divisor /= common;
  if (divisor == 1) return whole + Dim::from_sum(std::move(inside));
  // (x/a + c)/b = (x + c*a)/(a*b)
  if (inside.terms.size() == 1 && inside.terms[0].coefficient == 1 &&
      inside.terms[0].factors.size() == 1 && inside.terms[0].factors[0]->kind == Kind::kDiv) {
    const DimAtom& inner = *inside.terms[0].factors[0];
    const auto shift = checked_mul(inside.constant, inner.divisor);
    const auto product = checked_mul(divisor, inner.divisor);
    if (shift && product) return whole + floor_div(inner.args[0] + Dim(*shift), *product);
  }
  const Dim numerator = Dim::from_sum(std::move(inside));
  std::string text = numerator.as_symbol() ? str_cat(numerator, "/", divisor)
                                           : str_cat("(", numerator, ")/", divisor);
  if (!fits(text)) return Dim::invalid();
  return whole + from_atom(make_atom(Kind::kDiv, std::move(text), {numerator}, divisor));
}

Dim ceil_div(const Dim& a, int64_t divisor) { return floor_div(a + Dim(divisor - 1), divisor); }

std::optional<Dim> exact_div(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return std::nullopt;
  if (a == b) return Dim(1);
  if (const auto divisor = b.to_int()) {
    if (*divisor == 0) return std::nullopt;
    if (*divisor < 0) {
      if (*divisor == INT64_MIN) return std::nullopt;
      return exact_div(-a, Dim(-*divisor));
    }
    if (const auto value = a.to_int()) {
      return *value % *divisor == 0 ? std::optional<Dim>(*value / *divisor) : std::nullopt;
    }
    if (a.sum()->constant % *divisor != 0) return std::nullopt;
    for (const DimTerm& term : a.sum()->terms) {
      if (term.coefficient % *divisor != 0) return std::nullopt;
    }
    return floor_div(a, *divisor);
  }
  if (a == Dim(0)) return Dim(0);
  // Long division by the leading term: each step cancels one term of `rest`.
  const DimTerm& lead = b.sum()->terms.back();
  Dim rest = a;
  Dim quotient = 0;
  for (size_t step = 0; step < kMaxTerms && rest.sum(); ++step) {
    bool reduced = false;
    for (const DimTerm& term : rest.sum()->terms) {
      if (term.coefficient % lead.coefficient != 0) continue;
      std::vector<AtomPtr> left = term.factors;
      bool divides = true;
      for (const AtomPtr& factor : lead.factors) {
        const auto it = find_if(left, [&](const AtomPtr& f) { return f->text == factor->text; });
        if (it == left.end()) {
          divides = false;
          break;
        }
        left.erase(it);
      }
      if (!divides) continue;
      const int64_t coefficient = term.coefficient / lead.coefficient;
      Dim piece = coefficient;
      if (!left.empty()) {
        DimSum sum;
        std::string key = term_key(left);
        sum.terms.push_back({coefficient, std::move(left), std::move(key)});
        piece = Dim::from_sum(std::move(sum));
      }
      quotient += piece;
      rest = rest - piece * b;
      reduced = true;
      break;
    }
    if (!reduced) return std::nullopt;
  }
  return rest == Dim(0) ? std::optional<Dim>(quotient) : std::nullopt;
}

Dim min(const Dim& a, const Dim& b) { return extremum(Kind::kMin, a, b); }
Dim max(const Dim& a, const Dim& b) { return extremum(Kind::kMax, a, b); }

namespace {

/// Append the operands of a broadcast, without duplicates.
void add_operands(const Dim& dim, std::vector<Dim>* out) {
  const DimSum* const sum = dim.sum();
  const bool alone = sum && sum->constant == 0 && sum->terms.size() == 1 &&
                     sum->terms[0].coefficient == 1 && sum->terms[0].factors.size() == 1;
  if (alone && sum->terms[0].factors[0]->kind == Kind::kBroadcast) {
    for (const Dim& arg : sum->terms[0].factors[0]->args) add_operands(arg, out);
  } else if (dim != Dim(1) && !contains(*out, dim)) {
    out->push_back(dim);
  }
}

Dim broadcast_of_two(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim::invalid();
  std::string text = str_cat("broadcast(", a.to_string(), ", ", b.to_string(), ")");
  if (!fits(text)) return Dim::invalid();
  return from_atom(make_atom(Kind::kBroadcast, std::move(text), {a, b}));
}

}  // namespace

Dim broadcast(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return Dim::invalid();
  std::vector<Dim> operands;
  add_operands(a, &operands);
  add_operands(b, &operands);
  if (operands.empty()) return Dim(1);
  sort_list(operands, [](const Dim& x, const Dim& y) { return x.to_string() < y.to_string(); });
  Dim out = operands[0];
  for (size_t i = 1; i < operands.size() && out.valid(); ++i) {
    out = broadcast_of_two(out, operands[i]);
  }
  return out;
}

Dim ge(const Dim& a, const Dim& b) { return comparison(Kind::kGe, a, b); }
Dim eq(const Dim& a, const Dim& b) { return comparison(Kind::kEq, a, b); }

Dim rebuild(const Dim& dim, const std::function<std::optional<Dim>(const DimAtom&)>& replace) {
  if (!dim.sum()) return dim;
  Dim total = dim.sum()->constant;
  for (const DimTerm& term : dim.sum()->terms) {
    Dim product = term.coefficient;
    for (const AtomPtr& factor : term.factors) {
      Dim value;
      if (auto replaced = replace(*factor)) {
        value = *replaced;
      } else if (factor->args.empty()) {
        value = from_atom(factor);
      } else {
        std::vector<Dim> args;
        for (const Dim& arg : factor->args) args.push_back(rebuild(arg, replace));
        value = args[0];
        if (factor->kind == Kind::kDiv) value = floor_div(args[0], factor->divisor);
        for (size_t i = 1; i < args.size(); ++i) {
          switch (factor->kind) {
            case Kind::kMin: value = min(value, args[i]); break;
            case Kind::kMax: value = max(value, args[i]); break;
            case Kind::kBroadcast: value = broadcast(value, args[i]); break;
            case Kind::kGe: value = ge(value, args[i]); break;
            case Kind::kEq: value = eq(value, args[i]); break;
            default: value = Dim::invalid(); break;
          }
        }
      }
      product *= value;
    }
    total += product;
  }
  return total;
}

Dim Dim::substitute(std::string_view symbol, const Dim& by) const {
  if (!mentions(symbol)) return *this;
  return rebuild(*this, [&](const DimAtom& atom) -> std::optional<Dim> {
    if (atom.kind == Kind::kSymbol && atom.text == symbol) return by;
    return std::nullopt;
  });
}

void Dim::collect_symbols(std::vector<std::string>* names) const {
  if (!sum_) return;
  for (const DimTerm& term : sum_->terms) {
    for (const AtomPtr& factor : term.factors) {
      if (factor->kind == Kind::kSymbol) {
        if (!contains(*names, factor->text)) {
          names->push_back(factor->text);
        }
      }
      for (const Dim& arg : factor->args) arg.collect_symbols(names);
    }
  }
}

bool Dim::mentions(std::string_view symbol) const {
  if (!sum_) return false;
  for (const DimTerm& term : sum_->terms) {
    for (const AtomPtr& factor : term.factors) {
      if (factor->kind == Kind::kSymbol && factor->text == symbol) return true;
      for (const Dim& arg : factor->args) {
        if (arg.mentions(symbol)) return true;
      }
    }
  }
  return false;
}

std::string Dim::to_string() const {
  if (!sum_) return str_cat(value_);
  std::string out;
  if (sum_->constant != 0) out = str_cat(sum_->constant);
  for (const DimTerm& term : sum_->terms) {
    if (term.coefficient < 0) {
      out += '-';
    } else if (!out.empty()) {
      out += '+';
    }
    const bool negative_min = term.coefficient == INT64_MIN;
    const int64_t magnitude = term.coefficient < 0 && !negative_min ? -term.coefficient
                                                                     : term.coefficient;
    // A leading minus sign would bind to the numerator.
    const bool alone = magnitude == 1 && term.factors.size() == 1 &&
                       (term.coefficient > 0 || out.size() > 1);
    if (magnitude != 1) out += str_cat(magnitude, "*");
    for (size_t i = 0; i < term.factors.size(); ++i) {
      if (i > 0) out += '*';
      // NNEF reads 2*x/8 as (2*x)/8; the grammar of assertions reads it as 2*(x/8).
      const bool wrap = !alone && term.factors[i]->kind == Kind::kDiv;
      out += wrap ? str_cat("(", term.factors[i]->text, ")") : term.factors[i]->text;
    }
  }
  return out;
}

Dim volume(std::span<const Dim> shape) {
  Dim product = 1;
  for (const Dim& extent : shape) product *= extent;
  return product;
}

}  // namespace rill
