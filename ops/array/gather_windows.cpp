// Turns gathers of windows, each `hop` rows after the previous one, into adjacent slices. The
// indices of windows are a column that counts up, plus a row of constants.

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/index_run.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/built.h"

namespace rill::ops {
namespace {

// Windows of audio have up to a few thousand samples; each piece of a window takes a few nodes.
constexpr int64_t kMostRows = 1 << 14;
constexpr int64_t kMostPieces = 512;

/// Window i has the rows first + i * hop + offsets[k] of a table.
struct Windows {
  Dim first;
  Dim count;
  int64_t hop = 1;
  std::vector<int64_t> offsets;
  bool across = false;  ///< each column of the indices is a window

  int64_t size() const { return static_cast<int64_t>(offsets.size()); }
  bool gapless() const {
    const auto gap = [](int64_t a, int64_t b) { return b != a + 1; };
    return std::adjacent_find(offsets.begin(), offsets.end(), gap) == offsets.end();
  }
};

std::optional<std::vector<int64_t>> numbers(const Tensor& tensor) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const auto element = element_as_dim(tensor, i);
    const auto number = element.ok() ? element->to_int() : std::nullopt;
    if (!number || *number < -kMostFrames || *number > kMostFrames) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

/// Return the windows for indices of rank 2; nothing if they do not form windows.
std::optional<Windows> windows_of(const Graph& graph, OutletId indices, const SymbolScope& scope) {
  const Fact& fact = graph.fact(indices);
  const auto sum = offset_indices_of(graph, indices);
  if (!sum || !counts_rows(fact.dtype) || sum->offsets->volume() > kMostRows) return std::nullopt;
  const Tensor& konst = *sum->offsets;
  // The constants span one of the two axes.
  for (const int along : {0, 1}) {
    const int axis = along + konst.rank() - 2;
    if (axis < 0 || konst.shape()[static_cast<size_t>(axis)] != konst.volume()) continue;
    if (fact.dim(along).to_int() != konst.volume() || fact.dim(1 - along).is_const()) continue;
    const auto run = index_run_of(graph, sum->from);
    auto offsets = numbers(konst);
    if (!run || run->is_clamped() || !offsets) return std::nullopt;
    return Windows{scope.simplify(run->begin), fact.dim(1 - along), run->step,
                   std::move(*offsets), along == 0};
  }
  return std::nullopt;
}

/// Return whether all rows of the windows are known to exist in the table.
bool lie_inside(const Windows& windows, const Dim& extent, const SymbolScope& scope) {
  const auto [least, most] = std::minmax_element(windows.offsets.begin(), windows.offsets.end());
  const Dim last = windows.first + (windows.count - Dim(1)) * Dim(windows.hop) + Dim(*most);
  return scope.proves_ge(windows.first + Dim(*least), Dim(0)) &&
         scope.proves_ge(extent, scope.simplify(last + Dim(1)));
}

/// Builds windows of rows of `x` from pieces. A piece has an axis of windows and an axis of rows.
class Pieces {
 public:
  Pieces(Rewrite& rewrite, OutletId x, int64_t axis, const Windows& windows)
      : rewrite_(rewrite), x_(x), axis_(axis), windows_(windows) {}

  Result<OutletId> joined() {
    const Windows& w = windows_;
    if (w.hop > 1 && w.size() >= w.hop && w.gapless()) {
      for (int64_t at = 0; at < w.size(); at += w.hop) RILL_TRY(add_rows(at));
    } else {
      for (const int64_t offset : w.offsets) RILL_TRY(add_row(offset));
    }
    const int64_t rows = axis_ + (w.across ? 0 : 1);
    if (parts_.size() == 1) return parts_[0];
    return rewrite_.wire1(rewrite_.node().name, make_op<Concat>(rows), std::move(parts_));
  }

 private:
  Result<OutletId> wire(std::string_view what, OpPtr op, OutletId from) {
    return rewrite_.wire1(str_cat(rewrite_.node().name, "_", what, "_", parts_.size()),
                          std::move(op), {from});
  }

  /// Add the rows [at, at + hop) of all windows, or as many as the windows have: windows of `hop`
  /// rows are adjacent without a gap.
  Status add_rows(int64_t at) {
    const int64_t hop = windows_.hop;
    const int64_t missing = std::max<int64_t>(0, at + hop - windows_.size());
    const Dim begin = windows_.first + Dim(windows_.offsets[0] + at - missing);
    const Dim end = begin + windows_.count * Dim(hop);
    RILL_ASSIGN(OutletId part, wire("rows", make_op<Slice>(axis_, begin, end), x_));
    RILL_ASSIGN(
        part, wire("split", make_op<Reshape>(axis_, 1, std::vector<Dim>{windows_.count, Dim(hop)}),
                   part));
    if (missing > 0) {
      RILL_ASSIGN(part, wire("last", make_op<Slice>(axis_ + 1, Dim(missing), Dim(hop)), part));
    }
    if (windows_.across) {
      std::vector<int64_t> order(static_cast<size_t>(rewrite_.new_fact(part).rank()));
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[static_cast<size_t>(axis_)], order[static_cast<size_t>(axis_) + 1]);
      RILL_ASSIGN(part, wire("across", make_op<Transpose>(std::move(order)), part));
    }
    parts_.push_back(part);
    return {};
  }

  /// Add one row of each window.
  Status add_row(int64_t offset) {
    const Dim begin = windows_.first + Dim(offset);
    const Dim end = begin + (windows_.count - Dim(1)) * Dim(windows_.hop) + Dim(1);
    RILL_ASSIGN(OutletId part, wire("row", make_op<Slice>(axis_, begin, end), x_));
    if (windows_.hop > 1) {
      RILL_ASSIGN(part, wire("hop", make_op<Downsample>(axis_, windows_.hop, 0), part));
    }
    RILL_ASSIGN(part, wire("axis", make_op<AddAxis>(axis_ + (windows_.across ? 0 : 1)), part));
    parts_.push_back(part);
    return {};
  }

  Rewrite& rewrite_;
  OutletId x_;
  int64_t axis_;
  const Windows& windows_;
  std::vector<OutletId> parts_;
};

int64_t pieces_of(const Windows& windows) {
  const bool in_hops = windows.size() >= windows.hop && windows.gapless();
  return in_hops ? (windows.size() + windows.hop - 1) / windows.hop : windows.size();
}

}  // namespace

/// Replace windows of rows by slices if all rows are known to exist.
Status Gather::slice_windows(Rewrite& rewrite) const {
  if constexpr (built("concat") && built("axis_ops") && built("reshape")) {
    const Dim& extent = rewrite.in(0).dim(static_cast<int>(axis));
    if (is_quantised(rewrite.in(0).dtype) || extent.is_const()) return {};
    const auto windows = windows_of(rewrite.old_graph(), rewrite.input(1), rewrite.scope());
    if (!windows || pieces_of(*windows) > kMostPieces ||
        !lie_inside(*windows, extent, rewrite.scope())) {
      return {};
    }
    Pieces pieces(rewrite, rewrite.mapped(rewrite.input(0)), axis, *windows);
    RILL_ASSIGN(const OutletId out, pieces.joined());
    return rewrite.replace({out});
  }
  return {};
}

}  // namespace rill::ops
