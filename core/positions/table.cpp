#include "core/positions/table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/walk.h"

namespace rill {
namespace {

constexpr int64_t kMostOfTable = int64_t{1} << 22;
constexpr int64_t kLongestPeriod = 512;
constexpr double kMostExact = 1 << 24;

}  // namespace

std::optional<PositionTable> PositionTable::of(const Graph& graph, const Node& slice, Square at) {
  PositionTable table;
  int64_t first_row = 0;
  int64_t first_column = 0;
  const Node* node = &slice;
  for (Course cut = node->op->course(); cut.is(Course::Form::kCut); cut = node->op->course()) {
    const auto begin = cut.begin->to_int();
    const int axis = cut.axis();
    if (!begin || (axis != at.row && axis != at.column)) return std::nullopt;
    (axis == at.row ? first_row : first_column) += *begin;
    (axis == at.row ? table.by_row_ : table.by_column_) = true;
    node = &graph.node(node->inputs[0].node);
  }
  const TensorPtr constant = constant_of(*node->op);
  if (!constant || constant->volume() > kMostOfTable) return std::nullopt;
  const Tensor& all = *constant;
  // An axis that no slice cuts does not depend on the stream, though its extent may be 1.
  const auto extent = [&](int axis) { return all.shape()[static_cast<size_t>(axis)]; };
  const int64_t all_rows = table.by_row_ ? extent(at.row) : 1;
  const int64_t all_columns = table.by_column_ ? extent(at.column) : 1;
  const bool transposed = table.by_row_ && table.by_column_ && at.row > at.column;
  table.rows_ = all_rows - first_row;
  table.columns_ = all_columns - first_column;
  if (all.volume() != all_rows * all_columns || table.rows_ < 1 || table.columns_ < 1) {
    return std::nullopt;
  }
  const auto numbers = cast(all, DType::kF64);
  if (!numbers.ok()) return std::nullopt;
  const auto* from = numbers->data<double>();
  table.values_.reserve(static_cast<size_t>(table.rows_ * table.columns_));
  for (int64_t i = first_row; i < all_rows; ++i) {
    for (int64_t j = first_column; j < all_columns; ++j) {
      const double value = from[transposed ? j * all_rows + i : i * all_columns + j];
      if (std::isnan(value)) return std::nullopt;
      table.exact_ &= std::trunc(value) == value && std::abs(value) <= kMostExact;
      table.values_.push_back(value);
    }
  }
  table.find_period();
  const bool hides = any_of(table.values_, [](double value) { return std::isinf(value); });
  if (table.period_ == 0 && hides) {
    table.only_hides_ = true;
    for (double& value : table.values_) {
      if (!std::isinf(value)) value = 0;
    }
    table.find_period();
  }
  if (table.period_ == 0) return std::nullopt;
  table.find_reach();
  return table;
}

void PositionTable::find_period() {
  int64_t length = kLongestPeriod * 2;
  if (by_row_) length = std::min(length, rows_);
  if (by_column_) length = std::min(length, columns_);
  for (int64_t period = 1; period <= length / 2 && period_ == 0; ++period) {
    if (has_period(period)) period_ = period;
  }
}

bool PositionTable::has_period(int64_t period) {
  const int64_t down = by_row_ ? period : 0;
  const int64_t along = by_column_ ? period : 0;
  const double growth = by_row_ && by_column_ ? 0 : at(down, along) - at(0, 0);
  if (!std::isfinite(growth)) return false;
  for (int64_t i = 0; i + down < rows_; ++i) {
    for (int64_t j = 0; j + along < columns_; ++j) {
      const double before = at(i, j);
      const double after = at(i + down, j + along);
      if (before != after && after - before != growth) return false;
      if (before == after && growth != 0) return false;
    }
  }
  growth_ = growth;
  const bool square = by_row_ && by_column_;
  for (int64_t k = 0; k < period && !square; ++k) {
    start_ = std::max(start_, std::abs(values_[static_cast<size_t>(k)]));
  }
  return true;
}

void PositionTable::find_reach() {
  if (!by_row_ || !by_column_) return;
  for (int64_t i = 0; i < rows_; ++i) {
    for (int64_t j = 0; j < columns_; ++j) {
      if (at(i, j) != (j > i ? at(0, columns_ - 1) : at(rows_ - 1, 0))) {
        reach_ = std::max(reach_, std::abs(j - i));
      }
    }
  }
}

double PositionTable::value(int64_t query, int64_t key) const {
  const double out = entry(query, key);
  return only_hides_ && !std::isinf(out) ? std::numeric_limits<double>::quiet_NaN() : out;
}

double PositionTable::entry(int64_t query, int64_t key) const {
  if (!by_row_ || !by_column_) {
    const int64_t position = by_row_ ? query : key;
    const int64_t count = by_row_ ? rows_ : columns_;
    if (position < count) return by_row_ ? at(position, 0) : at(0, position);
    const int64_t phase = position % period_;
    return (by_row_ ? at(phase, 0) : at(0, phase)) +
           growth_ * static_cast<double>(position / period_);
  }
  if (query < rows_ && key < columns_) return at(query, key);
  const int64_t offset = key - query;
  int64_t row = query % period_;
  while (row + offset < 0) row += period_;
  if (row < rows_ && row + offset < columns_) return at(row, row + offset);
  return offset > 0 ? at(0, columns_ - 1) : at(rows_ - 1, 0);
}

}  // namespace rill
