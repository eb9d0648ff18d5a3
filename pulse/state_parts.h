#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// The indices [begin, end) of an axis; the whole axis if `end` is 0.
struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const IndexRange&) const = default;
};

/// A part of an input or output, such as `state[1, :, 0:64]`. An index keeps its axis, with extent
/// 1. Axes after the last range are complete.
struct StatePart {
  std::string name;
  std::vector<IndexRange> ranges;

  IndexRange range(size_t axis) const {
    return axis < ranges.size() ? ranges[axis] : IndexRange{};
  }
  std::string text() const;
};

/// Parse `NAME[RANGE, ...]`. A range is N, FROM:TO, :TO or a colon. Nothing for any other text.
std::optional<StatePart> parse_state_part(std::string_view text);

/// A source of feedback: the name of an output or a part of it, then maybe `.transpose(1,0)`.
struct StateSource {
  std::string name;
  std::vector<int64_t> order;  ///< axis i of the state is axis order[i] of the output; or empty
};
StateSource parse_state_source(std::string_view text);

/// Return the shape of a fact whose axes are in another order; its own if `order` is empty.
/// Errors: kArg if `order` is not an order of its axes.
Result<std::vector<Dim>> reordered(const Fact& fact, const std::vector<int64_t>& order);

/// The conversion of an output to the state of an input with another shape: a transposition, then a
/// reshape.
struct StateShape {
  std::vector<int64_t> order;  ///< empty if the order stays
  bool reshapes = false;
};
/// Find the unique conversion of one shape to another: axes of extent 1 may appear or disappear,
/// adjacent axes may merge or split, or different extents may be reordered.
/// Errors: kShape if there is none or more than one, with the orders that fit.
Result<StateShape> state_shape(const std::vector<Dim>& gives, const std::vector<Dim>& takes);

}  // namespace rill::pulse
