#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dim/dim.h"

namespace rill {

/// The symbols of a model: names, assertions, and scenarios (named sets of assertions, one of which
/// holds at run time). Symbols are extents, so each is >= 0.
class SymbolScope {
 public:
  struct Assertion {
    std::string text;               ///< as written, for dumps and messages
    std::vector<Dim> non_negative;  ///< the assertion as expressions that are >= 0
  };
  struct Scenario {
    std::string name;
    std::vector<Assertion> assertions;
  };

  void declare(std::string_view symbol);
  bool declared(std::string_view symbol) const;
  const std::vector<std::string>& symbols() const { return symbols_; }
  /// Forget a symbol and the assertions that mention it.
  void remove(std::string_view symbol);
  /// Return an unused symbol name that starts with `stem`.
  std::string fresh(std::string_view stem) const;

  /// Add `expr op expr`, or `scenario: expr op expr`, with op one of == <= >= < >.
  /// Errors: kParse; kSymbol if it and another assertion exclude each other for every size.
  Status assert_text(std::string_view text);
  const std::vector<Assertion>& assertions() const { return assertions_; }
  const std::vector<Scenario>& scenarios() const { return scenarios_; }
  void add_scenario(std::string_view name);
  /// Record that an expression is the extent of a wire, so that it is never negative.
  void take_as_extent(const Dim& dim);
  /// Return the recorded extents that are not provably >= 0 otherwise.
  const std::vector<Assertion>& extents() const { return extents_; }
  /// Record an extent from which other extents are computed. It must not be negative if a node
  /// reads those as data. Proofs do not assume this, because a slice whose end is before its begin
  /// is valid and empty.
  void take_as_length(const Dim& dim);
  const std::vector<Dim>& lengths() const { return lengths_; }

  /// A number that a node reads, computed from lengths. `counted` uses the graph's lengths, which
  /// are negative for some empty slices and windows; `real` uses 0 instead. If the file computes in
  /// 32 bits, `real` may also wrap.
  struct Taken {
    Dim counted;
    Dim real;
    std::string node;  ///< the first node that reads the number
    std::string op;
  };
  /// Record a number. The graph computes with `counted`, so sizes for which it differs from `real`
  /// are refused.
  void take_number(Taken taken);
  const std::vector<Taken>& taken() const { return taken_; }
  /// Return the scope with its assertions only, without the recorded extents.
  SymbolScope without_extents() const;

  /// Return whether an expression is provably never negative. False means unknown.
  bool proves_non_negative(const Dim& dim) const;
  bool proves_ge(const Dim& a, const Dim& b) const { return proves_non_negative(a - b); }
  /// Simplify by the assertions: apply equalities, drop redundant operands of min, max and
  /// broadcast, and decide comparisons.
  Dim simplify(const Dim& dim) const;
  /// Return the scenario that holds for these values; empty if there are no scenarios, or if
  /// several are still possible.
  /// Errors: kSymbol if every scenario is contradicted.
  Result<std::string> scenario_for(const Bindings& bindings) const;
  /// Replace a symbol in all assertions.
  void substitute(std::string_view symbol, const Dim& by);

 private:
  struct Interval;
  Interval interval(const Dim& dim, int depth) const;
  bool prove(const Dim& dim, int depth) const;
  bool prove_by(const std::vector<Assertion>& known, const Dim& dim, int depth) const;

  std::vector<std::string> symbols_;
  std::vector<Assertion> assertions_;
  std::vector<Assertion> extents_;  ///< implied by extents, not asserted, so not shown
  std::vector<Dim> lengths_;
  std::vector<Taken> taken_;
  std::vector<Scenario> scenarios_;
};

/// Find the value of the one unbound symbol of `dim` for which `dim` equals `value`. Nothing if
/// there are several unbound symbols, or if the equation is not linear with an exact solution.
std::optional<std::pair<std::string, int64_t>> solve(const Dim& dim, int64_t value,
                                                     const Bindings& bindings);

}  // namespace rill
