#include "core/dim/scope.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/base/search.h"

namespace rill {
namespace {

using Kind = DimAtom::Kind;
// Each level eliminates one assertion; proofs for real models need one or two.
constexpr int kProofDepth = 3;

Result<SymbolScope::Assertion> parse_assertion(std::string_view text) {
  constexpr std::array<std::string_view, 5> kOperators = {"==", "<=", ">=", "<", ">"};
  for (const std::string_view op : kOperators) {
    const size_t at = text.find(op);
    if (at == std::string_view::npos) continue;
    RILL_ASSIGN(const Dim left, parse_dim(text.substr(0, at)));
    RILL_ASSIGN(const Dim right, parse_dim(text.substr(at + op.size())));
    SymbolScope::Assertion assertion;
    assertion.text = str_cat(left, " ", op, " ", right);
    if (op == "==") assertion.non_negative = {left - right, right - left};
    if (op == "<=") assertion.non_negative = {right - left};
    if (op == ">=") assertion.non_negative = {left - right};
    if (op == "<") assertion.non_negative = {right - left - Dim(1)};
    if (op == ">") assertion.non_negative = {left - right - Dim(1)};
    return assertion;
  }
  return fail(Code::kParse, "assertion \"", text.substr(0, 200),
              "\": expected one of ==, <=, >=, <, >");
}

}  // namespace

/// A range that may be unbounded on either side; overflow makes a side unbounded.
struct SymbolScope::Interval {
  std::optional<int64_t> low;
  std::optional<int64_t> high;

  static std::optional<int64_t> add(std::optional<int64_t> a, std::optional<int64_t> b) {
    int64_t out = 0;
    if (!a || !b || __builtin_add_overflow(*a, *b, &out)) return std::nullopt;
    return out;
  }
  static std::optional<int64_t> mul(std::optional<int64_t> a, int64_t b) {
    int64_t out = 0;
    if (!a || __builtin_mul_overflow(*a, b, &out)) return std::nullopt;
    return out;
  }
  Interval plus(const Interval& other) const {
    return {add(low, other.low), add(high, other.high)};
  }
  Interval times(int64_t by) const {
    Interval out{mul(low, by), mul(high, by)};
    if (by < 0) std::swap(out.low, out.high);
    return out;
  }
  /// Return bounds of a product if both factors are >= 0; else an unbounded interval.
  Interval times(const Interval& other) const {
    const bool positive = other.low && *other.low >= 0 && low && *low >= 0;
    if (!positive) return {};
    return {mul(low, *other.low), other.high ? mul(high, *other.high) : std::nullopt};
  }
  Interval least(const Interval& other) const {
    Interval out = *this;
    if (!low || !other.low) out.low = std::nullopt;
    if (out.low) out.low = std::min(*low, *other.low);
    if (other.high) out.high = high ? std::min(*high, *other.high) : other.high;
    return out;
  }
  Interval greatest(const Interval& other) const {
    Interval out = *this;
    if (other.low) out.low = low ? std::max(*low, *other.low) : other.low;
    if (!high || !other.high) out.high = std::nullopt;
    if (out.high) out.high = std::max(*high, *other.high);
    return out;
  }
  /// Return the bounds that follow from the form of a factor. `within` returns the bounds of its
  /// arguments.
  template <class Within>
  static Interval of_factor(const DimAtom& factor, const Within& within) {
    switch (factor.kind) {
      case Kind::kSymbol:
        return {0, std::nullopt};
      case Kind::kDiv: {
        Interval out = within(factor.args[0]);
        if (out.low) out.low = *floor_div(Dim(*out.low), factor.divisor).to_int();
        if (out.high) out.high = *floor_div(Dim(*out.high), factor.divisor).to_int();
        return out;
      }
      case Kind::kGe:
      case Kind::kEq:
        return {0, 1};
      case Kind::kMin:
      case Kind::kMax:
      case Kind::kBroadcast: {
        Interval out;
        for (size_t i = 0; i < factor.args.size(); ++i) {
          const Interval one = within(factor.args[i]);
          const bool smaller = factor.kind == Kind::kMin;
          out = i == 0 ? one : smaller ? out.least(one) : out.greatest(one);
        }
        return out;
      }
      default:
        return {};
    }
  }
};

void SymbolScope::declare(std::string_view symbol) {
  if (!declared(symbol)) symbols_.emplace_back(symbol);
}

bool SymbolScope::declared(std::string_view symbol) const { return contains(symbols_, symbol); }

void SymbolScope::remove(std::string_view symbol) {
  std::erase(symbols_, symbol);
  const auto mentions = [&](const Assertion& a) {
    return any_of(a.non_negative, [&](const Dim& d) { return d.mentions(symbol); });
  };
  std::erase_if(assertions_, mentions);
  std::erase_if(extents_, mentions);
  std::erase_if(lengths_, [&](const Dim& length) { return length.mentions(symbol); });
  std::erase_if(taken_, [&](const Taken& taken) {
    return taken.counted.mentions(symbol) || taken.real.mentions(symbol);
  });
  for (Scenario& scenario : scenarios_) std::erase_if(scenario.assertions, mentions);
}

std::string SymbolScope::fresh(std::string_view stem) const {
  std::string name(stem);
  for (int i = 0; declared(name); ++i) name = str_cat(stem, "_", i);
  return name;
}

namespace {

// The maximum number of extents that a proof tries; each takes time.
constexpr size_t kMostTried = 16;
// The maximum number of extents against which sizes are checked.
constexpr size_t kMostKept = 4096;

/// Return the extents that proofs try.
std::span<const SymbolScope::Assertion> tried(const std::vector<SymbolScope::Assertion>& extents) {
  return std::span(extents).first(std::min(extents.size(), kMostTried));
}

}  // namespace

void SymbolScope::take_as_extent(const Dim& dim) {
  if (dim.is_const() || !dim.valid() || extents_.size() >= kMostKept) return;
  if (!extents_.empty() && extents_.back().non_negative.front() == dim) return;
  if (!proves_non_negative(dim)) extents_.push_back({"", {dim}});
}

void SymbolScope::take_as_length(const Dim& dim) {
  if (dim.is_const() || !dim.valid() || lengths_.size() >= kMostKept) return;
  // Consecutive wires usually have equal extents.
  constexpr size_t kLast = 8;
  const size_t last = std::min(lengths_.size(), kLast);
  if (contains(std::span(lengths_).last(last), dim) || proves_non_negative(dim)) return;
  lengths_.push_back(dim);
}

void SymbolScope::take_number(Taken taken) {
  const auto is_it = [&](const Taken& each) {
    return each.counted == taken.counted && each.real == taken.real;
  };
  if (none_of(taken_, is_it)) taken_.push_back(std::move(taken));
}

SymbolScope SymbolScope::without_extents() const {
  SymbolScope out;
  out.symbols_ = symbols_;
  out.assertions_ = assertions_;
  out.scenarios_ = scenarios_;
  return out;
}

void SymbolScope::add_scenario(std::string_view name) {
  for (const Scenario& scenario : scenarios_) {
    if (scenario.name == name) return;
  }
  scenarios_.push_back({std::string(name), {}});
}

namespace {

/// Combine a >= 0 and b >= 0 with factors that cancel their first terms. Return the number that
/// must then be >= 0; nothing if other terms remain.
std::optional<int64_t> without_terms(const Dim& a, const Dim& b) {
  const auto factor = [](const Dim& dim) {
    return dim.sum() && !dim.sum()->terms.empty() ? dim.sum()->terms[0].coefficient : 1;
  };
  constexpr int64_t kMost = int64_t{1} << 20;
  const int64_t of_a = std::abs(factor(a));
  const int64_t of_b = std::abs(factor(b));
  if (of_a > kMost || of_b > kMost) return std::nullopt;
  return (Dim(of_b) * a + Dim(of_a) * b).to_int();
}

/// Fail with kSymbol if two assertions contradict each other for every size.
Status expect_agreement(const std::vector<SymbolScope::Assertion>& known,
                        const SymbolScope::Assertion& added) {
  constexpr size_t kMostCompared = 64;
  for (size_t i = 0; i < std::min(known.size(), kMostCompared); ++i) {
    for (const Dim& a : known[i].non_negative) {
      for (const Dim& b : added.non_negative) {
        const auto rest = without_terms(a, b);
        if (!rest || *rest >= 0) continue;
        return fail(Code::kSymbol, "the model asserts ", known[i].text, " and ", added.text,
                    ", which exclude each other")
            .hint("Remove or correct one of the two");
      }
    }
  }
  return {};
}

}  // namespace

Status SymbolScope::assert_text(std::string_view text) {
  const size_t colon = text.find(':');
  RILL_ASSIGN(Assertion assertion,
              parse_assertion(colon == std::string_view::npos ? text : text.substr(colon + 1)));
  for (const Dim& dim : assertion.non_negative) {
    std::vector<std::string> names;
    dim.collect_symbols(&names);
    for (const std::string& name : names) declare(name);
  }
  if (colon == std::string_view::npos) {
    const auto is_it = [&](const Assertion& each) { return each.text == assertion.text; };
    if (any_of(assertions_, is_it)) return {};
    RILL_TRY(expect_agreement(assertions_, assertion));
    assertions_.push_back(std::move(assertion));
    return {};
  }
  const std::string_view name = trimmed(text.substr(0, colon));
  add_scenario(name);
  for (Scenario& scenario : scenarios_) {
    if (scenario.name == name) scenario.assertions.push_back(std::move(assertion));
  }
  return {};
}

namespace {

/// Solve k*atom + c >= 0: return the least atom if k > 0, the greatest if k < 0. Nothing if it does
/// not fit int64.
std::optional<int64_t> solve_for(int64_t k, int64_t c) {
  if (k == INT64_MIN || c == INT64_MIN) return std::nullopt;
  const int64_t rounded = -c / k;  // towards 0
  const bool exact = c % k == 0;
  if (k > 0) return rounded + (!exact && c < 0 ? 1 : 0);
  return rounded - (!exact && c < 0 ? 1 : 0);
}

/// Tighten the bounds of an atom, such as a symbol or a quotient, by the assertions on it.
void tighten(std::span<const SymbolScope::Assertion> assertions, std::string_view atom,
             std::optional<int64_t>* low, std::optional<int64_t>* high) {
  for (const SymbolScope::Assertion& assertion : assertions) {
    for (const Dim& fact : assertion.non_negative) {
      // k*atom + c >= 0 bounds the atom from below or from above.
      if (!fact.sum() || fact.sum()->terms.size() != 1) continue;
      const DimTerm& only = fact.sum()->terms[0];
      if (only.key != atom) continue;
      const int64_t c = fact.sum()->constant;
      const auto bound = solve_for(only.coefficient, c);
      if (!bound) continue;
      if (only.coefficient > 0) *low = *low ? std::max(**low, *bound) : *bound;
      if (only.coefficient < 0) *high = *high ? std::min(**high, *bound) : *bound;
    }
  }
}

}  // namespace

SymbolScope::Interval SymbolScope::interval(const Dim& dim, int depth) const {
  if (const auto value = dim.to_int()) return {value, value};
  const auto within = [&](const Dim& arg) {
    return depth > 0 ? interval(arg, depth - 1) : Interval{};
  };
  Interval total{dim.sum()->constant, dim.sum()->constant};
  for (const DimTerm& term : dim.sum()->terms) {
    Interval product{1, 1};
    for (const auto& factor : term.factors) {
      Interval one = Interval::of_factor(*factor, within);
      tighten(assertions_, factor->text, &one.low, &one.high);
      tighten(tried(extents_), factor->text, &one.low, &one.high);
      product = term.factors.size() == 1 ? one : product.times(one);
    }
    total = total.plus(product.times(term.coefficient));
  }
  return total;
}

bool SymbolScope::prove(const Dim& dim, int depth) const {
  const Interval range = interval(dim, kProofDepth);
  if (range.low && *range.low >= 0) return true;
  if (depth == 0 || !dim.sum()) return false;
  // x/k >= (x - k + 1)/k, and x/k is at most the exact quotient: bounding one division leaves a
  // linear expression.
  for (const DimTerm& term : dim.sum()->terms) {
    if (term.factors.size() != 1 || term.factors[0]->kind != Kind::kDiv) continue;
    const int64_t k = term.factors[0]->divisor;
    const Dim& x = term.factors[0]->args[0];
    DimSum rest = *dim.sum();
    std::erase_if(rest.terms, [&](const DimTerm& t) { return t.key == term.key; });
    const Dim others = Dim::from_sum(std::move(rest));
    const Dim bound = term.coefficient > 0 ? x - Dim(k - 1) : x;
    if (prove(others * Dim(k) + Dim(term.coefficient) * bound, depth - 1)) return true;
  }
  if (prove_by(assertions_, dim, depth)) return true;
  if (extents_.size() <= kMostTried) return prove_by(extents_, dim, depth);
  const auto few = tried(extents_);
  return prove_by({few.begin(), few.end()}, dim, depth);
}

bool SymbolScope::prove_by(const std::vector<Assertion>& known, const Dim& dim, int depth) const {
  for (const Assertion& assertion : known) {
    for (const Dim& fact : assertion.non_negative) {
      if (!fact.sum()) continue;
      // Subtract the multiple of the fact that cancels one of its terms.
      for (const DimTerm& term : fact.sum()->terms) {
        for (const DimTerm& own : dim.sum()->terms) {
          if (own.key != term.key || (own.coefficient > 0) != (term.coefficient > 0)) continue;
          if (own.coefficient % term.coefficient != 0) continue;
          if (fact.sum()->terms.size() == 1) continue;  // it bounds a single atom, as `interval`
                                                        // knows
          if (prove(dim - Dim(own.coefficient / term.coefficient) * fact, depth - 1)) return true;
        }
      }
    }
  }
  return false;
}

bool SymbolScope::proves_non_negative(const Dim& dim) const {
  return dim.valid() && prove(dim, kProofDepth);
}

Dim SymbolScope::simplify(const Dim& dim) const {
  if (dim.is_const() || !dim.valid()) return dim;
  return rebuild(dim, [&](const DimAtom& atom) -> std::optional<Dim> {
    if (atom.kind == Kind::kSymbol) {
      for (const Assertion& assertion : assertions_) {
        // An equality is two facts, one the negative of the other.
        if (assertion.non_negative.size() != 2) continue;
        for (const Dim& fact : assertion.non_negative) {
          const Dim value = Dim::symbol(atom.text) - fact;
          if (value.is_const()) return value;
        }
      }
      return std::nullopt;
    }
    if (atom.args.size() < 2) return std::nullopt;
    std::vector<Dim> args;
    for (const Dim& arg : atom.args) args.push_back(simplify(arg));
    if (atom.kind == Kind::kGe) {
      if (proves_ge(args[0], args[1])) return Dim(1);
      if (proves_ge(args[1], args[0] + Dim(1))) return Dim(0);
      return ge(args[0], args[1]);
    }
    if (atom.kind == Kind::kEq) {
      if (proves_ge(args[0], args[1] + Dim(1)) || proves_ge(args[1], args[0] + Dim(1))) {
        return Dim(0);
      }
      return eq(args[0], args[1]);
    }
    const bool is_min = atom.kind == Kind::kMin;
    std::vector<Dim> kept;
    for (const Dim& arg : args) {
      bool redundant = false;
      for (const Dim& other : kept) {
        redundant |= is_min ? proves_ge(arg, other) : proves_ge(other, arg);
      }
      if (redundant && atom.kind != Kind::kBroadcast) continue;
      if (atom.kind != Kind::kBroadcast) {
        std::erase_if(kept, [&](const Dim& other) {
          return is_min ? proves_ge(other, arg) : proves_ge(arg, other);
        });
      }
      kept.push_back(arg);
    }
    Dim out = kept[0];
    for (size_t i = 1; i < kept.size(); ++i) {
      out = is_min                    ? min(out, kept[i])
            : atom.kind == Kind::kMax ? max(out, kept[i])
                                      : broadcast(out, kept[i]);
    }
    return out;
  });
}

Result<std::string> SymbolScope::scenario_for(const Bindings& bindings) const {
  if (scenarios_.empty()) return std::string();
  const Scenario* open = nullptr;
  int open_count = 0;
  for (const Scenario& scenario : scenarios_) {
    bool contradicted = false;
    bool decided = true;
    for (const Assertion& assertion : scenario.assertions) {
      for (const Dim& fact : assertion.non_negative) {
        const auto value = fact.eval(bindings);
        decided &= value.has_value();
        contradicted |= value && *value < 0;
      }
    }
    if (contradicted) continue;
    if (decided) return scenario.name;
    open = &scenario;
    ++open_count;
  }
  if (open_count == 1) return open->name;
  if (open_count > 1) return std::string();
  std::string values;
  for (const auto& [name, value] : bindings) values += str_cat(" ", name, "=", value);
  return fail(Code::kSymbol, "No possible scenario for", values);
}

void SymbolScope::substitute(std::string_view symbol, const Dim& by) {
  const auto apply = [&](std::vector<Assertion>* assertions) {
    for (Assertion& assertion : *assertions) {
      bool changed = false;
      for (Dim& fact : assertion.non_negative) {
        changed |= fact.mentions(symbol);
        fact = fact.substitute(symbol, by);
      }
      if (changed && !assertion.non_negative.empty()) {
        assertion.text = assertion.non_negative.size() == 2
                             ? str_cat(assertion.non_negative[0], " == 0")
                             : str_cat(assertion.non_negative[0], " >= 0");
      }
    }
    std::erase_if(*assertions, [](const Assertion& assertion) {
      return all_of(assertion.non_negative, [](const Dim& d) { return d.is_const(); });
    });
  };
  apply(&assertions_);
  apply(&extents_);
  for (Dim& length : lengths_) length = length.substitute(symbol, by);
  std::erase_if(lengths_, [](const Dim& length) { return length.is_const(); });
  for (Taken& taken : taken_) {
    taken.counted = taken.counted.substitute(symbol, by);
    taken.real = taken.real.substitute(symbol, by);
  }
  std::erase_if(taken_, [](const Taken& taken) {
    return taken.counted.is_const() && taken.real.is_const();
  });
  for (Scenario& scenario : scenarios_) apply(&scenario.assertions);
  std::erase(symbols_, symbol);
  std::vector<std::string> names;
  by.collect_symbols(&names);
  for (const std::string& name : names) declare(name);
}

std::optional<std::pair<std::string, int64_t>> solve(const Dim& dim, int64_t value,
                                                     const Bindings& bindings) {
  Dim open = dim;
  for (const auto& [name, bound] : bindings) open = open.substitute(name, Dim(bound));
  std::vector<std::string> names;
  open.collect_symbols(&names);
  if (names.size() != 1 || !open.sum() || open.sum()->terms.size() != 1) return std::nullopt;
  const DimTerm& term = open.sum()->terms[0];
  if (term.factors.size() != 1) return std::nullopt;
  const int64_t rest = value - open.sum()->constant;
  if (rest % term.coefficient != 0) return std::nullopt;
  const int64_t quotient = rest / term.coefficient;
  if (term.factors[0]->kind == Kind::kSymbol) return std::pair{names[0], quotient};
  if (term.factors[0]->kind != Kind::kDiv) return std::nullopt;
  // Several values have this quotient; models mean the exact multiple.
  int64_t target = 0;
  if (__builtin_mul_overflow(quotient, term.factors[0]->divisor, &target)) return std::nullopt;
  return solve(term.factors[0]->args[0], target, bindings);
}

}  // namespace rill
