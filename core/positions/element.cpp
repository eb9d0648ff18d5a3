#include "core/positions/element.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/graph/walk.h"
#include "core/tensor/visit_number.h"

namespace rill {
namespace {

/// Doubles represent all integers up to here.
constexpr double kMostWhole = 9007199254740992.0;

/// An element in memory, with its type.
class Element {
 public:
  explicit Element(DType dtype = DType::kF64) : dtype_(dtype) {}

  /// Return the element as a view with the rank of the operator, which may read its axes.
  View view(int rank) {
    View out;
    out.dtype = dtype_;
    out.rank = rank;
    std::fill_n(out.shape.begin(), rank, 1);
    std::fill_n(out.stride.begin(), rank, 1);
    out.data = dtype_ == DType::kDim ? static_cast<void*>(&dim_) : bytes_;
    return out;
  }

  /// Store a number; return false if the type cannot represent it.
  bool put(double value) {
    if (dtype_ == DType::kBool) {
      bytes_[0] = std::byte{value != 0.0};
      return true;
    }
    if (dtype_ == DType::kDim) {
      if (!(std::abs(value) <= kMostWhole) || std::trunc(value) != value) return false;
      dim_ = Dim(static_cast<int64_t>(value));
      return true;
    }
    bool fits = false;
    visit_number(dtype_, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        fits = holds<T>(value) && std::trunc(value) == value;
        if (fits) write(static_cast<T>(value));
      } else {
        fits = true;
        write(static_cast<T>(static_cast<Computed<T>>(value)));
      }
    });
    return fits;
  }

  /// Return the number; nothing for NaN, and for integers that doubles cannot represent.
  std::optional<double> get() const {
    if (dtype_ == DType::kBool) return bytes_[0] == std::byte{0} ? 0.0 : 1.0;
    double out = std::numeric_limits<double>::quiet_NaN();
    if (dtype_ == DType::kDim) {
      const auto whole = dim_.to_int();
      if (whole) out = static_cast<double>(*whole);
    }
    visit_number(dtype_, [&](auto element) {
      std::memcpy(&element, bytes_, sizeof(element));
      out = static_cast<double>(static_cast<Computed<decltype(element)>>(element));
    });
    const bool whole = dtype_ == DType::kDim || is_int(dtype_);
    if (std::isnan(out) || (whole && !(std::abs(out) <= kMostWhole))) return std::nullopt;
    return out;
  }

 private:
  template <class T>
  static bool holds(double value) {
    return std::abs(value) <= kMostWhole &&
           value >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
           value <= static_cast<double>(std::numeric_limits<T>::max());
  }
  template <class T>
  void write(T element) {
    std::memcpy(bytes_, &element, sizeof(element));
  }

  DType dtype_;
  alignas(8) std::byte bytes_[8] = {};
  Dim dim_;
};

/// Return whether the operator has one output, whose elements depend only on the inputs' elements
/// at the same index, and are the same in every run.
bool is_elementwise(const Op& op, FactSpan in, FactSpan out) {
  if (in.empty() || out.size() != 1 || out[0].rank() == 0 || !op.repeatable() ||
      op.state_bytes(in) > 0) {
    return false;
  }
  const auto own = op.axes(in, out);
  const auto all = elementwise_axes(in, out);
  return own.size() == all.size() &&
         std::is_permutation(own.begin(), own.end(), all.begin(), [](auto& a, auto& b) {
           return a.in == b.in && a.out == b.out;
         });
}

}  // namespace

PositionOp::PositionOp(const Op& of, FactSpan in, FactSpan out)
    : op(&of),
      course(of.course()),
      constant(constant_of(of)),
      pointwise(is(Course::Form::kPerElement) ||
                (!is(Course::Form::kMoved) && is_elementwise(of, in, out))) {
  if (!pointwise) return;
  // Integers are computed in 64 bits; a result that would wrap in fewer bits is unknown.
  wide = course.widens && is_int(in[0].dtype);
  for (const Fact& fact : in) read.push_back(wide ? DType::kI64 : fact.dtype);
  made = out[0].dtype;
  rank = out[0].rank();
}

std::optional<double> number_of(const PositionOp& op, std::span<const double> in) {
  constexpr size_t kMost = 3;
  if (!op.pointwise || in.size() != op.read.size() || in.size() > kMost) return std::nullopt;
  if (op.divides() && in[1] == 0.0) return std::nullopt;
  std::array<Element, kMost> elements;
  std::array<View, kMost> views;
  for (size_t i = 0; i < in.size(); ++i) {
    elements[i] = Element(op.read[i]);
    if (!elements[i].put(in[i])) return std::nullopt;
    views[i] = elements[i].view(op.rank);
  }
  Element result(op.wide && is_int(op.made) ? DType::kI64 : op.made);
  const View out = result.view(op.rank);
  EvalCtx ctx;
  ctx.in = {views.data(), in.size()};
  ctx.out = {&out, 1};
  if (!op.op->eval(ctx).ok()) return std::nullopt;
  const auto number = result.get();
  // A cast to fewer bits than the number needs wraps, too.
  const bool cut = number && op.is(Course::Function::kCast) && is_int(op.made) &&
                   *number != std::trunc(in[0]);
  return number && !cut && Element(op.made).put(*number) ? number : std::nullopt;
}

}  // namespace rill
