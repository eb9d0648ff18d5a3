#include "pulse/state_parts.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/base/search.h"

namespace rill::pulse {
namespace {

constexpr std::string_view kTranspose = ".transpose(";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<int64_t> parse_index(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  const bool good = read.ec == std::errc() && read.ptr == end && value >= 0 && value < INT32_MAX;
  return good ? std::optional(value) : std::nullopt;
}

std::optional<IndexRange> parse_range(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    const auto index = parse_index(text);
    return index ? std::optional(IndexRange{*index, *index + 1}) : std::nullopt;
  }
  if (text == ":") return IndexRange{};
  const std::string_view from = trimmed(text.substr(0, colon));
  const auto begin = from.empty() ? std::optional<int64_t>(0) : parse_index(from);
  const auto end = parse_index(trimmed(text.substr(colon + 1)));
  if (!begin || !end || *begin >= *end) return std::nullopt;
  return IndexRange{*begin, *end};
}

/// Split a list at commas.
std::vector<std::string_view> items(std::string_view list) {
  std::vector<std::string_view> out;
  for (size_t from = 0; from <= list.size();) {
    const size_t comma = std::min(list.find(',', from), list.size());
    out.push_back(trimmed(list.substr(from, comma - from)));
    from = comma + 1;
  }
  return out;
}

/// Return the axes whose extent is not 1.
std::vector<int64_t> long_axes(const std::vector<Dim>& shape) {
  std::vector<int64_t> out;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!(shape[axis] == Dim(1))) out.push_back(static_cast<int64_t>(axis));
  }
  return out;
}

std::vector<Dim> taken(const std::vector<Dim>& shape, const std::vector<int64_t>& axes) {
  std::vector<Dim> out;
  for (const int64_t axis : axes) out.push_back(shape[static_cast<size_t>(axis)]);
  return out;
}

/// Return whether adjacent extents of one list merge into the other list.
bool merges(const std::vector<Dim>& parts, const std::vector<Dim>& whole) {
  size_t at = 0;
  for (const Dim& extent : whole) {
    Dim product = 1;
    const size_t first = at;
    while (at < parts.size() && (at == first || !(product == extent))) product *= parts[at++];
    if (!(product == extent)) return false;
  }
  return at == parts.size();
}

/// Return up to two orders of axes that give the extents of `wanted`.
std::vector<std::vector<int64_t>> orders_of(const std::vector<Dim>& extents,
                                            const std::vector<Dim>& wanted) {
  constexpr size_t kEnough = 2;
  std::vector<std::vector<int64_t>> out;
  const auto count = [](const std::vector<Dim>& list, const Dim& extent) {
    return std::count(list.begin(), list.end(), extent);
  };
  const bool fits = extents.size() == wanted.size() && all_of(wanted, [&](const Dim& extent) {
    return count(extents, extent) == count(wanted, extent);
  });
  if (!fits) return out;
  std::vector<int64_t> order;
  const auto extend = [&](const auto& self) -> void {
    if (out.size() == kEnough) return;
    if (order.size() == wanted.size()) {
      out.push_back(order);
      return;
    }
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const auto each = static_cast<int64_t>(axis);
      if (contains(order, each) || !(extents[axis] == wanted[order.size()])) continue;
      order.push_back(each);
      self(self);
      order.pop_back();
    }
  };
  extend(extend);
  return out;
}

/// Extend an order of the axes with extent > 1 to all axes, with those of extent 1 last.
std::vector<int64_t> whole_order(const std::vector<int64_t>& order,
                                 const std::vector<int64_t>& axes, size_t rank) {
  std::vector<int64_t> out;
  for (const int64_t each : order) out.push_back(axes[static_cast<size_t>(each)]);
  for (int64_t axis = 0; axis < static_cast<int64_t>(rank); ++axis) {
    if (!contains(out, axis)) out.push_back(axis);
  }
  return out;
}

std::string transpose_text(const std::vector<int64_t>& order) {
  std::vector<std::string> axes;
  for (const int64_t axis : order) axes.push_back(str_cat(axis));
  return str_cat(kTranspose, join(axes, ","), ")");
}

}  // namespace

std::string StatePart::text() const {
  std::string list;
  for (const IndexRange& range : ranges) {
    if (!list.empty()) list += ',';
    if (range.end == 0) {
      list += ':';
    } else if (range.end == range.begin + 1) {
      list += str_cat(range.begin);
    } else {
      list += str_cat(range.begin, ":", range.end);
    }
  }
  return list.empty() ? name : str_cat(name, "[", list, "]");
}

std::optional<StatePart> parse_state_part(std::string_view text) {
  const size_t open = text.rfind('[');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(']')) return std::nullopt;
  StatePart part{std::string(text.substr(0, open)), {}};
  for (const std::string_view item : items(text.substr(open + 1, text.size() - open - 2))) {
    const auto range = parse_range(item);
    if (!range) return std::nullopt;
    part.ranges.push_back(*range);
  }
  return part;
}

StateSource parse_state_source(std::string_view text) {
  const size_t at = text.rfind(kTranspose);
  if (at == std::string_view::npos || !text.ends_with(')')) return {std::string(text), {}};
  StateSource out{std::string(text.substr(0, at)), {}};
  const size_t from = at + kTranspose.size();
  for (const std::string_view item : items(text.substr(from, text.size() - from - 1))) {
    out.order.push_back(parse_index(item).value_or(-1));
  }
  return out;
}

Result<std::vector<Dim>> reordered(const Fact& fact, const std::vector<int64_t>& order) {
  if (order.empty()) return fact.shape;
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> axes(fact.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (sorted != axes) {
    return fail(Code::kArg, transpose_text(order), ": expected each axis of ", fact,
                " once, counted from 0");
  }
  return taken(fact.shape, order);
}

Result<StateShape> state_shape(const std::vector<Dim>& gives, const std::vector<Dim>& takes) {
  if (gives == takes) return StateShape{};
  const std::vector<int64_t> axes = long_axes(gives);
  const std::vector<Dim> from = taken(gives, axes);
  const std::vector<Dim> to = taken(takes, long_axes(takes));
  if (from == to || merges(from, to) || merges(to, from)) return StateShape{{}, true};
  std::vector<std::vector<int64_t>> orders = orders_of(from, to);
  for (auto& order : orders) order = whole_order(order, axes, gives.size());
  if (orders.size() > 1) {
    return fail(Code::kShape, "several orders of axes fit, as ", transpose_text(orders[0]), " and ",
                transpose_text(orders[1]));
  }
  if (orders.empty()) return fail(Code::kShape, "expected the same");
  StateShape out{orders[0], false};
  out.reshapes = !(taken(gives, out.order) == takes);
  return out;
}

}  // namespace rill::pulse
