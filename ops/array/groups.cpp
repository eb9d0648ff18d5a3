#include "ops/array/groups.h"

namespace rill::ops {
namespace {

/// Grows one group until the products of both sides are equal.
class Grower {
 public:
  Grower(std::span<const Dim> from, std::span<const Dim> to, AxisGroup* group)
      : from_(from), to_(to), group_(*group) {}

  void run() {
    take_from();
    take_to();
    while (!(from_product_ == to_product_)) {
      const bool more_from = group_.from_end < static_cast<int>(from_.size());
      const bool more_to = group_.to_end < static_cast<int>(to_.size());
      if (!more_from && !more_to) return;
      const bool from_divides = exact_div(to_product_, from_product_).has_value();
      if (more_from && (from_divides || !more_to)) {
        take_from();
      } else if (more_to && (!more_from || exact_div(from_product_, to_product_))) {
        take_to();
      } else {
        take_from();
        take_to();
      }
    }
  }

 private:
  void take_from() {
    if (group_.from_end == static_cast<int>(from_.size())) return;
    from_product_ *= from_[static_cast<size_t>(group_.from_end++)];
  }
  void take_to() {
    if (group_.to_end == static_cast<int>(to_.size())) return;
    to_product_ *= to_[static_cast<size_t>(group_.to_end++)];
  }

  std::span<const Dim> from_;
  std::span<const Dim> to_;
  AxisGroup& group_;
  Dim from_product_ = 1;
  Dim to_product_ = 1;
};

}  // namespace

std::vector<AxisGroup> axis_groups(std::span<const Dim> from, std::span<const Dim> to) {
  std::vector<AxisGroup> groups;
  int i = 0;
  int j = 0;
  while (i < static_cast<int>(from.size()) || j < static_cast<int>(to.size())) {
    AxisGroup group{i, i, j, j};
    Grower(from, to, &group).run();
    i = group.from_end;
    j = group.to_end;
    const bool one_sided = group.from_begin == group.from_end || group.to_begin == group.to_end;
    if (one_sided && !groups.empty()) {
      groups.back().from_end = group.from_end;
      groups.back().to_end = group.to_end;
    } else {
      groups.push_back(group);
    }
  }
  return groups;
}

}  // namespace rill::ops
