// Indices that stay constant for N positions and then advance by a fixed number of rows also become
// a slice, with each row repeated: x[arange(n) // 4 * 4] repeats every fourth row. If an
// interpolation clamps the indices to the rows, the first and last rows are repeated more often.

#include <string>
#include <vector>

#include "core/dim/pattern.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/gather.h"
#include "ops/array/index_run.h"
#include "ops/array/pad.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/symbolic.h"
#include "ops/built.h"

namespace rill::ops {
namespace {

/// The rows max(low, (position + shift) / times + first).
struct ClampedHold {
  int64_t times = 0;
  int64_t shift = 0;  ///< below `times`
  int64_t first = 0;
  int64_t low = 0;

  int64_t row(int64_t place) const { return (place + shift) / times + first; }
  Dim row(const Dim& place) const { return floor_div(place + Dim(shift), times) + Dim(first); }
};

/// Bounds of an expression in sizes, over all sizes; nothing on an unbounded or unknown side.
struct SizeBounds {
  std::optional<int64_t> least;
  std::optional<int64_t> greatest;
};

SizeBounds bounds_of(const SymbolScope& scope, const Dim& dim) {
  const Dim simple = scope.simplify(dim);
  if (const auto number = simple.to_int()) return {number, number};
  std::vector<std::string> symbols;
  simple.collect_symbols(&symbols);
  if (symbols.size() != 1) return {};
  const auto pattern = DimPattern::of(simple, symbols[0]);
  if (!pattern.ok()) return {};
  const int64_t from = scope.proves_ge(Dim::symbol(symbols[0]), Dim(1)) ? 1 : 0;
  const auto least = pattern->least(from);
  const auto greatest = pattern->greatest(from);
  return {least.ok() ? *least : std::nullopt, greatest.ok() ? *greatest : std::nullopt};
}

/// Remove min(.., extent - 1) from an index. Return whether the index had it.
bool drop_last_row(const SymbolScope& scope, const Dim& extent, Dim* index) {
  const DimSum* sum = index->sum();
  const bool alone = sum && sum->constant == 0 && sum->terms.size() == 1 &&
                     sum->terms[0].coefficient == 1 && sum->terms[0].factors.size() == 1;
  if (!alone || sum->terms[0].factors[0]->kind != DimAtom::Kind::kMin) return false;
  Dim rest = Dim::invalid();
  bool dropped = false;
  for (const Dim& arg : sum->terms[0].factors[0]->args) {
    const SizeBounds beyond = bounds_of(scope, arg - (extent - Dim(1)));
    const bool limits = beyond.least && *beyond.least >= 0;
    dropped |= limits && beyond.greatest == 0;
    if (!limits) rest = rest.valid() ? min(rest, arg) : arg;
  }
  if (!dropped || !rest.valid()) return false;
  *index = rest;
  return true;
}

/// Return the hold that an index describes as a function of `place`; nothing for other expressions.
std::optional<ClampedHold> clamped_hold_of(const Dim& index, const std::string& place) {
  constexpr int64_t kMostPlaces = int64_t{1} << 12;
  const auto pattern = DimPattern::of(index, place);
  if (!pattern.ok() || pattern->growth() < 1) return std::nullopt;
  const int64_t settled = pattern->settled();
  const int64_t far = settled + 2 * pattern->period();
  if (pattern->period() % pattern->growth() != 0 || far > kMostPlaces) return std::nullopt;
  ClampedHold out;
  out.times = pattern->period() / pattern->growth();
  std::vector<int64_t> rows;
  for (int64_t at = 0; at < far; ++at) {
    const auto row = index.eval(place, at);
    if (!row || *row < 0) return std::nullopt;
    rows.push_back(*row);
  }
  int64_t next = settled + 1;
  while (next < far && rows[static_cast<size_t>(next)] == rows[static_cast<size_t>(next - 1)]) {
    ++next;
  }
  if (next == far || out.times < 2) return std::nullopt;
  out.shift = (out.times - next % out.times) % out.times;
  out.first = rows[static_cast<size_t>(next)] - (next + out.shift) / out.times;
  out.low = rows[0];
  for (int64_t at = 0; at < far; ++at) {
    if (rows[static_cast<size_t>(at)] != std::max(out.row(at), out.low)) return std::nullopt;
  }
  return out.row(settled) >= out.low ? std::optional(out) : std::nullopt;
}

Result<OutletId> repeated_end(Rewrite& rewrite, OutletId rows, int64_t axis, int64_t before,
                              int64_t after) {
  if (before == 0 && after == 0) return rows;
  const Fact& fact = rewrite.new_fact(rows);
  Pads pads(static_cast<size_t>(fact.rank()), {0, 0});
  pads[static_cast<size_t>(axis)] = {before, after};
  RILL_ASSIGN(Tensor zero, Tensor::zeros(fact.dtype, {}));
  return rewrite.wire1(
      str_cat(rewrite.node().name, before > 0 ? "_front" : "_back"),
      make_op<Pad>(std::move(pads), "replicated", std::make_shared<const Tensor>(std::move(zero))),
      {rows});
}

/// Repeat each row `times` times, and the first row `longer` times more (less often if negative).
/// Keep `count` rows.
Result<OutletId> held_rows(Rewrite& rewrite, OutletId out, int64_t axis, int64_t times,
                           int64_t longer, const Dim& count) {
  const Fact rows = rewrite.new_fact(out);
  const Dim all = rows.dim(static_cast<int>(axis)) * Dim(times);
  std::vector<Dim> repeats(rows.shape.size() + 1, Dim(1));
  repeats[static_cast<size_t>(axis) + 1] = Dim(times);
  const OpPtr steps[] = {make_op<AddAxis>(axis + 1), make_op<Tile>(std::move(repeats)),
                         make_op<Reshape>(axis, 2, std::vector<Dim>{all})};
  for (const OpPtr& op : steps) {
    RILL_ASSIGN(out, rewrite.wire1(rewrite.node().name, op, {out}));
  }
  RILL_ASSIGN(out, repeated_end(rewrite, out, axis, std::max<int64_t>(0, longer), 0));
  const Dim first(std::max<int64_t>(0, -longer));
  return rewrite.wire1(rewrite.node().name, make_op<Slice>(axis, first, first + count), {out});
}

}  // namespace

/// Replace the gather by repeated rows. It may begin within the repeats of a row, and repeat the
/// first and the last row more often.
Status Gather::slice_clamped_holds(Rewrite& rewrite) const {
  if constexpr (built("axis_ops") && built("reshape") && built("broadcast") && built("pad")) {
    const SymbolScope& scope = rewrite.scope();
    const Dim& extent = rewrite.in(0).dim(static_cast<int>(axis));
    const Dim& count = rewrite.in(1).dim(0);
    const std::string place = scope.fresh("place");
    Dim index = positional_value(rewrite.old_graph(), rewrite.input(1), place)
                    .value_or(Dim::invalid());
    if (!index.valid() || bounds_of(scope, extent).least.value_or(0) < 1) return {};
    const bool to_last = drop_last_row(scope, extent, &index);
    const auto hold = clamped_hold_of(index, place);
    if (!hold) return {};
    const SizeBounds beyond = bounds_of(scope, hold->row(count - Dim(1)) - (extent - Dim(1)));
    const auto past = beyond.greatest;
    if (!past || (!to_last && (*past > 0 || hold->low > 0))) return {};
    // Append repeats of the last row, so that row `low` exists at any length.
    const int64_t after = to_last ? std::max({*past, hold->low, int64_t{0}}) : 0;
    const int64_t longer = (hold->low - hold->first) * hold->times - hold->shift;
    const Dim rows = extent + Dim(after - hold->low);
    const Dim spare = rows * Dim(hold->times) + Dim(longer) - count;
    if (bounds_of(scope, spare).least.value_or(-1) < 0) return {};
    OutletId out = rewrite.mapped(rewrite.input(0));
    RILL_ASSIGN(out, repeated_end(rewrite, out, axis, 0, after));
    if (hold->low > 0) {
      RILL_ASSIGN(out, rewrite.wire1(str_cat(rewrite.node().name, "_rows"),
                                     make_op<Slice>(axis, Dim(hold->low), extent + Dim(after)),
                                     {out}));
    }
    RILL_ASSIGN(out, held_rows(rewrite, out, axis, hold->times, longer, count));
    return rewrite.replace({out});
  }
  return {};
}

IndexHold index_hold_of(const Graph& graph, OutletId indices) {
  constexpr int64_t kMostTimes = int64_t{1} << 20;
  const std::string place = graph.scope.fresh("place");
  const Dim index = positional_value(graph, indices, place).value_or(Dim::invalid());
  const auto pattern = DimPattern::of(index, place);
  IndexHold out;
  if (pattern.ok() && pattern->settled() == 0 && pattern->period() <= kMostTimes) {
    out = {pattern->growth(), pattern->period()};
  }
  for (int64_t i = 0; i < out.times; ++i) {
    if (index.eval(place, i) != 0) out.times = 0;
  }
  return out;
}

Status Gather::slice_holds(Rewrite& rewrite) const {
  if constexpr (built("axis_ops") && built("reshape") && built("broadcast")) {
    const Fact& rows = rewrite.in(0);
    const Dim& extent = rows.dim(static_cast<int>(axis));
    const Dim& count = rewrite.in(1).dim(0);
    const bool open = !extent.is_const() && !count.is_const();
    if (!open || is_quantised(rows.dtype) || !counts_rows(rewrite.in(1).dtype)) return {};
    const auto [hop, times] = index_hold_of(rewrite.old_graph(), rewrite.input(1));
    if (hop < 1 || times < 2) return slice_clamped_holds(rewrite);
    const Dim all = ceil_div(extent, hop) * Dim(times);
    // The last row may be repeated less often.
    if (!rewrite.scope().proves_ge(all, count)) return {};
    std::vector<Dim> repeats(rows.shape.size() + 1, Dim(1));
    repeats[static_cast<size_t>(axis) + 1] = Dim(times);
    OutletId out = rewrite.mapped(rewrite.input(0));
    const OpPtr steps[] = {make_op<Downsample>(axis, hop, 0), make_op<AddAxis>(axis + 1),
                           make_op<Tile>(std::move(repeats)),
                           make_op<Reshape>(axis, 2, std::vector<Dim>{all}),
                           make_op<Slice>(axis, Dim(0), count)};
    for (const OpPtr& op : steps) {
      RILL_ASSIGN(out, rewrite.wire1(rewrite.node().name, op, {out}));
    }
    return rewrite.replace({out});
  }
  return {};
}

}  // namespace rill::ops
