#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/base/checked.h"
#include "core/run/plan.h"

namespace rill {

class Op;

/// Elements that a step reads or writes: all places of some loops around one element. Built from
/// the arguments of the step alone.
struct Region {
  Ref ref;
  int64_t size = 1;     ///< bytes of an element
  int64_t first = 0;    ///< the lowest element, relative to `ref`
  int64_t last = 0;     ///< the highest one
  int64_t visits = 1;   ///< how often an element is touched; the largest number where it overflows
  bool empty = false;   ///< a loop has no turn
  bool sane = true;     ///< no loop turns a negative number of times, and no place overflows
  int64_t align = 1;    ///< bytes that the place of element 0 must be a multiple of

  /// Add a loop of `count` turns, each `stride` elements further.
  Region over(Checked count, Checked stride = 1) const noexcept;
  /// Go some elements on.
  Region at(Checked elements) const;
  /// Ask for more than the alignment of an element.
  Region aligned(int64_t bytes) const;
  /// All that either region touches; both lie at one place and have elements of one size.
  Region with(const Region& other) const;
};

/// The elements of a type from a place on.
template <class T>
Region region(const Ref& ref) {
  Region out;
  out.ref = ref;
  out.size = static_cast<int64_t>(sizeof(T));
  out.align = out.size;
  return out;
}
/// All elements of an operand.
Region region(const PlacedView& operand);

/// More of anything than the arguments of a step count; products of two of them stay in range.
inline constexpr int64_t kMostCounted = int64_t{1} << 30;

/// The memory that a step with given arguments reads and writes, reported by its kind. The
/// arguments may come from an untrusted file, so the kind also checks its assumptions with
/// `require`.
/// Kernels may load up to 64 bytes beyond the last element that they read, without using them.
class StepTouches {
 public:
  explicit StepTouches(const StepParts& parts) : parts_(parts) {}
  virtual ~StepTouches() = default;

  virtual void reads(const Region& region) = 0;
  virtual void writes(const Region& region) = 0;
  void reads(const PlacedView& operand) { reads(region(operand)); }
  void writes(const PlacedView& operand) { writes(region(operand)); }
  /// The step keeps things there: it reads and writes them.
  void keeps(const Region& region) {
    reads(region);
    writes(region);
  }
  /// Say what must hold: a condition that `holds` or not.
  virtual void require(bool holds, const char* what) = 0;
  /// Return whether all that was required so far holds.
  virtual bool holds() const = 0;
  /// A slot while the steps of a loop run: in each iteration it shows one chunk, starting at
  /// `from`.
  struct Slot {
    Ref slot;
    Ref from;
    int64_t turns = 0;
    int64_t chunk_bytes = 0;  ///< from one chunk to the next
  };
  /// Report that this step runs the steps `turns` times, with the slots set, and reads some
  /// operands meanwhile.
  virtual void runs(const List<Step>& steps, std::span<const Slot> slots, int64_t turns,
                    std::span<const PlacedView> reads) = 0;
  /// The bytes of a region that the plan holds as a constant, which are read; null if it does not,
  /// and nothing else holds then.
  virtual const std::byte* contents(const Region& region) = 0;
  /// Say how many bytes of scratch, aligned to 64, each part needs.
  virtual void scratch(int64_t bytes) = 0;

  /// Report how often the innermost operation of a step runs: the product of these counts. Steps
  /// whose work exceeds the memory that they touch must report it, such as a matmul.
  void works(std::initializer_list<Checked> counts);
  virtual void work(int64_t operations) { (void)operations; }

  /// Say that a number lies within bounds, ends included.
  void within(Checked value, int64_t least, int64_t most) {
    require(value.within(least, most), "a count that makes sense");
  }

  /// Return the parts of the step by the plan.
  const StepParts& parts() const { return parts_; }
  /// Say how many units of work the arguments make: `slices` inside loops with these turns.
  void units(int64_t slices, std::span<const int64_t> turns = {});
  /// Say that an operator infers these outputs from these inputs, so that it accepts them.
  void infers(const Op& op, std::span<const PlacedView> in, std::span<const PlacedView> out);
  /// Say that two operands have one type and, but for one axis, one shape. -1: no axis is left out.
  void alike(const PlacedView& a, const PlacedView& b, int64_t but = -1);
  /// Say that an operand has that axis.
  void has_axis(const PlacedView& operand, int64_t at) {
    require(at >= 0 && at < operand.rank, "an axis of its operand");
  }

 private:
  const StepParts& parts_;
};

}  // namespace rill
