// Indices that repeat themselves, a fixed number of rows further on each time, are slices too: rows
// that are held, as x[arange(n) // 4 * 4] holds every fourth one, or taken several times.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/dim/pattern.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/index_run.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/symbolic.h"
#include "ops/built.h"

namespace rill::ops {
namespace {

// Each is a few nodes; rows that are held longer than this are found one by one.
constexpr size_t kMostRows = 64;
constexpr int64_t kMostPlaces = int64_t{1} << 20;

/// Block i of the indices has rows i * hop + offset, each so many times.
struct Holds {
  int64_t hop = 1;
  int64_t places = 0;  ///< of a block
  std::vector<std::pair<int64_t, int64_t>> rows;  ///< offset and times
};

std::optional<Holds> holds_of(const Graph& graph, OutletId indices) {
  const std::string place = graph.scope.fresh("place");
  const auto index = positional_value(graph, indices, place);
  if (!index || index->is_const()) return std::nullopt;
  const auto pattern = DimPattern::of(*index, place);
  if (!pattern.ok() || pattern->settled() > 0 || pattern->growth() < 1) return std::nullopt;
  if (pattern->period() < 2 || pattern->period() > kMostPlaces) return std::nullopt;
  Holds out{pattern->growth(), pattern->period(), {}};
  for (int64_t i = 0; i < out.places; ++i) {
    const auto offset = index->eval(place, i);
    if (!offset || *offset < 0) return std::nullopt;
    if (!out.rows.empty() && out.rows.back().first == *offset) {
      ++out.rows.back().second;
    } else if (out.rows.size() == kMostRows) {
      return std::nullopt;
    } else {
      out.rows.emplace_back(*offset, 1);
    }
  }
  return out;
}

/// Whether all rows are known to lie in a table, those of a last block too that is cut short.
bool lie_inside(const Holds& holds, const Dim& blocks, const Dim& extent) {
  std::vector<std::string> symbols;
  (blocks + extent).collect_symbols(&symbols);
  if (symbols.size() != 1) return false;
  int64_t most = 0;
  for (const auto& [offset, times] : holds.rows) most = std::max(most, offset);
  const Dim last = (blocks - Dim(1)) * Dim(holds.hop) + Dim(most);
  const auto spare = DimPattern::of(extent - Dim(1) - last, symbols[0]);
  if (!spare.ok()) return false;
  const auto least = spare->least(1);
  return least.ok() && *least && **least >= 0;
}

}  // namespace

Status Gather::slice_holds(Rewrite& rewrite) const {
  if constexpr (built("concat") && built("axis_ops") && built("reshape") && built("broadcast")) {
    const Dim& extent = rewrite.in(0).dim(static_cast<int>(axis));
    const Dim& count = rewrite.in(1).dim(0);
    if (is_quantised(rewrite.in(0).dtype) || extent.is_const() || count.is_const() ||
        !counts_rows(rewrite.in(1).dtype)) {
      return {};
    }
    const auto holds = holds_of(rewrite.old_graph(), rewrite.input(1));
    if (!holds) return {};
    const Dim blocks = ceil_div(count, holds->places);
    if (!lie_inside(*holds, blocks, extent)) return {};
    const std::string& name = rewrite.node().name;
    std::vector<OutletId> parts;
    for (const auto& [offset, times] : holds->rows) {
      OutletId part = rewrite.mapped(rewrite.input(0));
      const auto put = [&](OpPtr op) -> Status {
        RILL_ASSIGN(part, rewrite.wire1(str_cat(name, "_", parts.size()), std::move(op), {part}));
        return {};
      };
      if (offset > 0) RILL_TRY(put(std::make_shared<Slice>(axis, Dim(offset), extent)));
      if (holds->hop > 1) RILL_TRY(put(std::make_shared<Downsample>(axis, holds->hop, 0)));
      RILL_TRY(put(std::make_shared<Slice>(axis, Dim(0), blocks)));
      RILL_TRY(put(std::make_shared<AddAxis>(axis + 1)));
      std::vector<Dim> shape = rewrite.new_fact(part).shape;
      shape[static_cast<size_t>(axis) + 1] = Dim(times);
      if (times > 1) RILL_TRY(put(std::make_shared<Broadcast>(std::move(shape))));
      parts.push_back(part);
    }
    OutletId out = parts[0];
    if (parts.size() > 1) {
      RILL_ASSIGN(out, rewrite.wire1(str_cat(name, "_blocks"), std::make_shared<Concat>(axis + 1),
                                     std::move(parts)));
    }
    const Dim all = blocks * Dim(holds->places);
    RILL_ASSIGN(out, rewrite.wire1(str_cat(name, "_rows"),
                                   std::make_shared<Reshape>(axis, 2, std::vector<Dim>{all}),
                                   {out}));
    RILL_ASSIGN(out, rewrite.wire1(name, std::make_shared<Slice>(axis, Dim(0), count), {out}));
    return rewrite.replace({out});
  }
  return {};
}

}  // namespace rill::ops
