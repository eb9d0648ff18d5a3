#include "ops/math/scatter_slices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/search.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/indices.h"
#include "ops/array/pad.h"
#include "ops/array/range.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/symbolic.h"
#include "ops/math/binary.h"
#include "ops/math/select.h"

namespace rill::ops {
namespace {

/// The maximum number of nodes between indices and their ranges; exporters write a few.
constexpr int kMostSteps = 24;
constexpr int64_t kMostPlaces = 1 << 16;

/// The target positions of updates along one axis: a list if the extent is known, else `count`
/// positions from `begin`, `step` apart.
struct Course {
  int axis = 0;
  std::vector<int64_t> list;
  Dim begin;
  Dim count;
  int64_t step = 1;
  bool open = false;
  bool whole = false;  ///< every position, in order

  Dim end() const { return begin + (count - Dim(1)) * Dim(step) + Dim(1); }
};

bool is_run(const std::vector<int64_t>& list) {
  for (size_t i = 1; i < list.size(); ++i) {
    if (list[i] != list[i - 1] + 1) return false;
  }
  return true;
}

/// Finds the courses (target positions per axis) of the indices of a `ScatterNd`.
class Courses {
 public:
  explicit Courses(const Rewrite& rewrite) : rewrite_(rewrite), graph_(rewrite.old_graph()) {}

  std::optional<std::vector<Course>> read() {
    const Fact& indices = rewrite_.in(1);
    const int places = indices.rank() - 1;
    if (places < 1 || !(indices.shape.back() == Dim(places)) || !is_int(indices.dtype)) {
      return std::nullopt;
    }
    std::vector<Course> out;
    for (int axis = 0; axis < places; ++axis) {
      auto course = indices.konst ? of_table(*indices.konst, axis, axis) : of_part(axis, places);
      if (!course) return std::nullopt;
      out.push_back(std::move(*course));
    }
    return out;
  }

 private:
  const Dim& extent(int axis) const { return rewrite_.in(0).dim(axis); }

  /// Return the course of a column of constant indices.
  std::optional<Course> of_table(const Tensor& table, int axis, int column) const {
    const View view = table.view();
    if (view.volume() > kMostPlaces) return std::nullopt;
    View rows = view;
    rows.rank -= 1;
    const int64_t first = column * view.step(rows.rank);
    std::vector<int64_t> list;
    for (int64_t i = 0; i < view.extent(axis); ++i) {
      list.push_back(index_at(view, i * view.step(axis) + first));
    }
    bool fits = true;
    std::array<int64_t, kMaxRank> row{};
    for_each_element<1>({rows}, [&](const std::array<int64_t, 1>& at) {
      const int64_t index = index_at(view, at[0] + first);
      fits &= index == list[static_cast<size_t>(row[static_cast<size_t>(axis)])];
      next_index(&row, rows.shape.data(), rows.rank);
    });
    return fits ? of_list(axis, std::move(list)) : std::nullopt;
  }

  /// Return the course along one axis: that of one input of the concatenated indices.
  std::optional<Course> of_part(int axis, int places) const {
    OutletId wire = rewrite_.input(1);
    if (places > 1) {
      const std::vector<OutletId>& parts = rewrite_.producer(1).inputs;
      if (rewrite_.producer(1).op->name() != Concat(0).name() ||
          parts.size() != static_cast<size_t>(places)) {
        return std::nullopt;
      }
      wire = parts[static_cast<size_t>(axis)];
      if (!(graph_.fact(wire).shape.back() == Dim(1))) return std::nullopt;
    }
    if (const TensorPtr& table = graph_.fact(wire).konst) return of_table(*table, axis, 0);
    const Dim count = rewrite_.in(1).dim(axis);
    const auto counted = counted_along(wire, axis);
    return counted ? of_counted(axis, *counted, count) : std::nullopt;
  }

  /// Return the wire that a part of the indices broadcasts along all axes except one.
  std::optional<OutletId> counted_along(OutletId wire, int axis) const {
    for (int step = 0; step < kMostSteps; ++step) {
      const std::vector<Dim>& shape = graph_.fact(wire).shape;
      const auto one = [](const Dim& dim) { return dim == Dim(1); };
      const auto wide = static_cast<size_t>(axis);
      const bool varies = axis >= 0 && !one(shape[wide]);
      const auto others = std::count_if(shape.begin(), shape.end(),
                                        [&](const Dim& dim) { return !one(dim); });
      if (others == (varies ? 1 : 0)) return wire;
      const Node& node = graph_.node(wire.node);
      const auto repeated = repeated_wire(graph_, wire);
      if (!repeated && !node.op->traits().keeps_order) return std::nullopt;
      const OutletId next = repeated ? *repeated : node.inputs[0];
      const std::vector<Dim>& from = graph_.fact(next).shape;
      if (repeated) {
        axis -= static_cast<int>(shape.size()) - static_cast<int>(from.size());
        if (varies && (axis < 0 || one(from[static_cast<size_t>(axis)]))) return std::nullopt;
      } else {
        // The same axes, apart from unit axes.
        std::vector<Dim> kept(from), given(shape);
        std::erase_if(kept, one);
        std::erase_if(given, one);
        if (!(kept == given)) return std::nullopt;
        auto before = varies ? std::count_if(shape.begin(), shape.begin() + axis,
                                             [&](const Dim& dim) { return !one(dim); })
                             : 0;
        axis = -1;
        for (size_t i = 0; varies && i < from.size(); ++i) {
          if (!one(from[i]) && before-- == 0) axis = static_cast<int>(i);
        }
      }
      if (!varies) axis = -1;
      wire = next;
    }
    return std::nullopt;
  }

  std::optional<Course> of_counted(int axis, OutletId wire, const Dim& count) const {
    const Fact& fact = graph_.fact(wire);
    if (fact.konst && is_int(fact.dtype) && fact.konst->volume() <= kMostPlaces) {
      std::vector<int64_t> list;
      const View view = fact.konst->view();
      for_each_element<1>({view}, [&](const std::array<int64_t, 1>& at) {
        list.push_back(index_at(view, at[0]));
      });
      return of_list(axis, std::move(list));
    }
    const std::string name = graph_.scope.fresh("place");
    const auto value = positional_value(graph_, wire, name);
    if (!value) return std::nullopt;
    const Dim first = value->substitute(name, Dim(0));
    const auto step = (value->substitute(name, Dim(1)) - first).to_int();
    if (!step || !(first + Dim(*step) * Dim::symbol(name) == *value)) return std::nullopt;
    const auto from = first.to_int(), number = count.to_int();
    if (extent(axis).is_const() && from && number && *number <= kMostPlaces) {
      std::vector<int64_t> list;
      for (int64_t i = 0; i < *number; ++i) list.push_back(*from + i * *step);
      return of_list(axis, std::move(list));
    }
    return of_run(axis, first, count, count == Dim(1) ? 1 : *step);
  }

  std::optional<Course> of_list(int axis, std::vector<int64_t> list) const {
    const auto whole = extent(axis).to_int();
    if (list.empty()) return std::nullopt;
    if (!whole) {
      const int64_t step = list.size() > 1 ? list[1] - list[0] : 1;
      for (size_t i = 1; i < list.size(); ++i) {
        if (list[i] != list[i - 1] + step) return std::nullopt;
      }
      if ((list.front() < 0) != (list.back() < 0)) return std::nullopt;
      return of_run(axis, Dim(list[0]), Dim(static_cast<int64_t>(list.size())), step);
    }
    Course out{axis, std::move(list), {}, {}};
    for (int64_t& index : out.list) {
      index = wrapped_index(index, *whole);
      if (index < 0) return std::nullopt;
    }
    out.whole = static_cast<int64_t>(out.list.size()) == *whole && is_run(out.list) &&
                out.list[0] == 0;
    return out;
  }

  /// Return the course of a range that begins within the axis.
  std::optional<Course> of_run(int axis, Dim begin, const Dim& count, int64_t step) const {
    const SymbolScope& scope = rewrite_.scope();
    if (step < 1) return std::nullopt;
    if (scope.proves_ge(Dim(-1), begin)) begin = scope.simplify(begin + extent(axis));
    if (!scope.proves_non_negative(begin)) return std::nullopt;
    Course out{axis, {}, std::move(begin), count, step, true};
    out.whole = step == 1 && out.begin == Dim(0) && scope.simplify(count - extent(axis)) == Dim(0);
    return out;
  }

  const Rewrite& rewrite_;
  const Graph& graph_;
};

/// Builds the graph that puts updates at positions of the data.
class Placing {
 public:
  explicit Placing(Rewrite* rewrite) : rewrite_(*rewrite) {}

  /// Put updates along the axes of `courses[at..]`. Return nothing if slices and selections cannot
  /// do it.
  Result<std::optional<OutletId>> put(OutletId data, OutletId updates,
                                      const std::vector<Course>& courses, size_t at) {
    if (at == courses.size()) return std::optional(updates);
    const Course& course = courses[at];
    OutletId inner = updates;
    if (at + 1 < courses.size()) {
      if (course.open) return std::optional<OutletId>();
      RILL_ASSIGN(const OutletId part, taken(data, course));
      RILL_ASSIGN(const auto placed, put(part, updates, courses, at + 1));
      if (!placed) return placed;
      inner = *placed;
    }
    if (!course.open) return found(placed_in_list(data, inner, course));
    return placed_in_run(data, inner, course);
  }

 private:
  static Result<std::optional<OutletId>> found(Result<OutletId> wire) {
    RILL_ASSIGN(const OutletId out, std::move(wire));
    return std::optional(out);
  }

  Result<OutletId> add(OpPtr op, std::vector<OutletId> inputs) {
    return rewrite_.wire1(rewrite_.node().name, std::move(op), inputs);
  }

  Result<OutletId> gathered(OutletId x, int axis, const std::vector<int64_t>& rows) {
    const auto count = static_cast<int64_t>(rows.size());
    RILL_ASSIGN(Tensor list,
                Tensor::of<int64_t>(DType::kI64, {count}, std::span<const int64_t>(rows)));
    const OutletId places = rewrite_.konst(rewrite_.node().name + "_rows", std::move(list));
    return add(make_op<Gather>(axis), {x, places});
  }

  Result<OutletId> cut(OutletId x, int axis, const Dim& begin, const Dim& end) {
    return add(make_op<Slice>(axis, begin, end), {x});
  }

  Result<OutletId> taken(OutletId data, const Course& course) {
    if (!is_run(course.list)) return gathered(data, course.axis, course.list);
    return cut(data, course.axis, Dim(course.list.front()), Dim(course.list.back() + 1));
  }

  /// Return the concat of the data before `begin`, the updates, and the data after `end`.
  Result<OutletId> joined(OutletId data, OutletId updates, int axis, const Dim& begin,
                          const Dim& end) {
    const Dim extent = rewrite_.new_fact(data).dim(axis);
    std::vector<OutletId> parts;
    if (begin != Dim(0)) {
      RILL_ASSIGN(parts.emplace_back(), cut(data, axis, Dim(0), begin));
    }
    parts.push_back(updates);
    if (rewrite_.scope().simplify(extent - end) != Dim(0)) {
      RILL_ASSIGN(parts.emplace_back(), cut(data, axis, end, extent));
    }
    return parts.size() == 1 ? Result<OutletId>(updates) : add(make_op<Concat>(axis), parts);
  }

  Result<OutletId> placed_in_list(OutletId data, OutletId updates, const Course& course) {
    if (is_run(course.list)) {
      return joined(data, updates, course.axis, Dim(course.list.front()),
                    Dim(course.list.back() + 1));
    }
    const int64_t extent = *rewrite_.new_fact(data).dim(course.axis).to_int();
    std::vector<int64_t> rows(static_cast<size_t>(extent));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
    // The last update of a position wins.
    for (size_t i = 0; i < course.list.size(); ++i) {
      rows[static_cast<size_t>(course.list[i])] = extent + static_cast<int64_t>(i);
    }
    RILL_ASSIGN(const OutletId all, add(make_op<Concat>(course.axis), {data, updates}));
    return gathered(all, course.axis, rows);
  }

  Result<std::optional<OutletId>> placed_in_run(OutletId data, OutletId updates,
                                                const Course& course) {
    const SymbolScope& scope = rewrite_.scope();
    const Dim extent = rewrite_.new_fact(data).dim(course.axis);
    const bool to_the_end =
        scope.simplify(course.count - ceil_div(extent - course.begin, course.step)) == Dim(0);
    const auto end = to_the_end ? std::optional(Dim(0)) : fixed_end(course, extent);
    RILL_ASSIGN(const auto frame, repeated_frame(updates, course.axis));
    if (frame && course.begin.is_const() && end) {
      RILL_ASSIGN(const auto mask, counted_mask(data, course, *end));
      return found(selected(mask, *frame, data));
    }
    RILL_ASSIGN(const auto around, repeated_frame(data, course.axis));
    const auto trailing = to_the_end ? 0 : scope.simplify(extent - course.end()).to_int();
    const bool joins = course.step == 1 && scope.proves_ge(extent, course.end());
    if (course.begin.is_const() && trailing && *trailing >= 0 && !(joins && around) &&
        (to_the_end || joins)) {
      RILL_ASSIGN(const OutletId moved, moved_apart(updates, course, extent, *trailing));
      RILL_ASSIGN(const auto mask, to_the_end ? counted_mask(data, course, Dim(0))
                                              : padded_mask(data, course, *trailing));
      return found(selected(mask, moved, data));
    }
    if (!joins) return std::optional<OutletId>();
    return found(joined(data, updates, course.axis, course.begin, course.end()));
  }

  /// Return the end as a number if positions past the axis do not matter: c for min(c, extent).
  std::optional<Dim> fixed_end(const Course& course, const Dim& extent) const {
    const Dim end = rewrite_.scope().simplify(course.end());
    if (end.is_const()) return end;
    std::vector<std::string> symbols;
    end.collect_symbols(&symbols);
    Bindings far;
    for (const std::string& symbol : symbols) far.emplace_back(symbol, int64_t{1} << 30);
    const auto settled = end.eval(far);
    if (!settled || *settled < 1) return std::nullopt;
    const Dim limited = rewrite_.scope().simplify(min(Dim(*settled), extent));
    return limited == end ? std::optional(Dim(*settled)) : std::nullopt;
  }

  /// Return the frame that updates repeat along an axis; nothing if frames may differ there.
  Result<std::optional<OutletId>> repeated_frame(OutletId updates, int axis) {
    const auto source = repeated_wire(rewrite_.new_graph(), updates);
    if (!source) return std::optional<OutletId>();
    const Fact& fact = rewrite_.new_fact(*source);
    const int rank = rewrite_.new_fact(updates).rank();
    const int missing = rank - fact.rank();
    if (axis >= missing && !(fact.dim(axis - missing) == Dim(1))) return std::optional<OutletId>();
    std::vector<Dim> shape(static_cast<size_t>(missing), Dim(1));
    shape.insert(shape.end(), fact.shape.begin(), fact.shape.end());
    if (missing == 0) return std::optional(*source);
    return found(add(make_op<Reshape>(0, fact.rank(), std::move(shape)), {*source}));
  }

  Result<OutletId> selected(const std::optional<OutletId>& mask, OutletId updates, OutletId data) {
    return mask ? add(make_op<Select>(), {*mask, updates, data}) : Result<OutletId>(updates);
  }

  /// Return the positions 0, 1, ... along the axis of a course, with the rank of the data.
  Result<OutletId> places_of(OutletId data, const Course& course, const Dim& count) {
    RILL_ASSIGN(const OutletId places, add(make_op<Range>(Dim(0), count, 1), {}));
    std::vector<Dim> shape(rewrite_.new_fact(data).shape.size(), Dim(1));
    shape[static_cast<size_t>(course.axis)] = count;
    return add(make_op<Reshape>(0, 1, std::move(shape)), {places});
  }

  Result<OutletId> with_number(BinaryKind kind, OutletId x, int64_t number) {
    const std::vector<int64_t> ones(rewrite_.new_fact(x).shape.size(), 1);
    RILL_ASSIGN(Tensor one, Tensor::scalar(number).reshaped(ones));
    return add(make_op<Binary>(kind),
               {x, rewrite_.konst(rewrite_.node().name + "_number", std::move(one))});
  }

  /// Return whether each position belongs to a course; nothing if all do. `end`: after the last
  /// position; 0 for all positions.
  Result<std::optional<OutletId>> counted_mask(OutletId data, const Course& course,
                                               const Dim& end) {
    const Dim extent = rewrite_.new_fact(data).dim(course.axis);
    RILL_ASSIGN(const OutletId places, places_of(data, course, extent));
    std::optional<OutletId> mask;
    const auto also = [&](BinaryKind kind, OutletId x, int64_t by) -> Status {
      RILL_ASSIGN(OutletId part, with_number(kind, x, by));
      if (mask) {
        RILL_ASSIGN(part, add(make_op<Binary>(BinaryKind::kAnd), {*mask, part}));
      }
      mask = part;
      return {};
    };
    const int64_t begin = *course.begin.to_int();
    if (begin > 0) RILL_TRY(also(BinaryKind::kGe, places, begin));
    if (end != Dim(0)) RILL_TRY(also(BinaryKind::kLt, places, *end.to_int()));
    if (course.step > 1) {
      RILL_ASSIGN(OutletId phase, with_number(BinaryKind::kFloorDiv, places, course.step));
      RILL_ASSIGN(phase, with_number(BinaryKind::kMul, phase, course.step));
      RILL_ASSIGN(phase, add(make_op<Binary>(BinaryKind::kSub), {places, phase}));
      RILL_TRY(also(BinaryKind::kEq, phase, begin % course.step));
    }
    return mask;
  }

  /// Return whether each position belongs to a course that ends before the last `trailing`
  /// positions. Frames of the course are counted from 0, and padding is -1.
  Result<std::optional<OutletId>> padded_mask(OutletId data, const Course& course,
                                              int64_t trailing) {
    RILL_ASSIGN(OutletId places, places_of(data, course, course.count));
    RILL_ASSIGN(places, padded(places, course, trailing, Tensor::scalar(int64_t{-1})));
    RILL_ASSIGN(places, with_number(BinaryKind::kGe, places, 0));
    return std::optional(places);
  }

  Result<OutletId> padded(OutletId x, const Course& course, int64_t trailing, Tensor value) {
    Pads pads(rewrite_.new_fact(x).shape.size(), {0, 0});
    pads[static_cast<size_t>(course.axis)] = {*course.begin.to_int(), trailing};
    return add(make_op<Pad>(std::move(pads), "constant",
                            std::make_shared<const Tensor>(std::move(value))),
               {x});
  }

  /// Move frame i of the updates to position begin + i * step, and repeat it up to the next frame.
  /// Pad before the first and after the last frame.
  Result<OutletId> moved_apart(OutletId updates, const Course& course, const Dim& extent,
                               int64_t trailing) {
    const int axis = course.axis;
    OutletId out = updates;
    if (course.step > 1) {
      std::vector<Dim> repeats(rewrite_.new_fact(updates).shape.size() + 1, Dim(1));
      repeats[static_cast<size_t>(axis) + 1] = Dim(course.step);
      const OpPtr steps[] = {
          make_op<AddAxis>(axis + 1), make_op<Tile>(std::move(repeats)),
          make_op<Reshape>(axis, 2, std::vector<Dim>{course.count * Dim(course.step)}),
          make_op<Slice>(axis, Dim(0), extent - course.begin)};
      for (const OpPtr& op : steps) {
        RILL_ASSIGN(out, add(op, {out}));
      }
    }
    const Fact& fact = rewrite_.new_fact(updates);
    RILL_ASSIGN(Tensor zero, Tensor::zeros(fact.dtype, {}, fact.q));
    return padded(out, course, trailing, std::move(zero));
  }

  Rewrite& rewrite_;
};

}  // namespace

Status scatter_as_slices(Rewrite& rewrite) {
  if (rewrite.in(0).rank() == 0 || is_quantised(rewrite.in(0).dtype)) return {};
  auto courses = Courses(rewrite).read();
  if (!courses) return {};
  std::erase_if(*courses, [](const Course& course) { return course.whole; });
  // The open axis comes last: it selects within cuts along the axes of fixed extents.
  std::stable_sort(courses->begin(), courses->end(),
                   [](const Course& a, const Course& b) { return a.open < b.open; });
  RILL_ASSIGN(const auto out, Placing(&rewrite).put(rewrite.mapped(rewrite.input(0)),
                                                    rewrite.mapped(rewrite.input(2)), *courses, 0));
  return out ? rewrite.replace({*out}) : Status();
}

}  // namespace rill::ops
