#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/base/checked.h"
#include "core/run/plan.h"

namespace rill {

class Op;

/// The elements that a step reads or writes: one element inside nested strided loops. Built from
/// the arguments of the step alone.
struct Region {
  Ref ref;
  int64_t size = 1;     ///< bytes of an element
  int64_t first = 0;    ///< the lowest element, relative to `ref`
  int64_t last = 0;     ///< the highest one
  int64_t visits = 1;   ///< how often an element is accessed; INT64_MAX on overflow
  bool empty = false;  ///< a loop has no iterations
  bool sane = true;  ///< no number of iterations is negative, and no offset overflows
  int64_t align = 1;    ///< required alignment of element 0, in bytes

  /// Add a loop of `count` iterations that are `stride` elements apart.
  Region over(Checked count, Checked stride = 1) const noexcept;
  /// Shift the region by a number of elements.
  Region at(Checked elements) const;
  /// Require a stricter alignment than that of an element.
  Region aligned(int64_t bytes) const;
  /// Return the union with a region that has the same `ref` and element size.
  Region with(const Region& other) const;
};

/// Return the region of one element of type T at `ref`.
template <class T>
Region region(const Ref& ref) {
  Region out;
  out.ref = ref;
  out.size = static_cast<int64_t>(sizeof(T));
  out.align = out.size;
  return out;
}
/// Return the region of all elements of an operand.
Region region(const PlacedView& operand);

/// An upper limit of counts in step arguments; the product of two does not overflow.
inline constexpr int64_t kMostCounted = int64_t{1} << 30;

/// Receives the memory that a step with given arguments reads and writes, as its kind reports it.
/// The arguments may come from an untrusted file, so the kind also checks its assumptions with
/// `require`.
/// Kernels may load up to 64 bytes past the last element that they read, without using them.
class StepTouches {
 public:
  explicit StepTouches(const StepParts& parts) : parts_(parts) {}
  virtual ~StepTouches() = default;

  virtual void reads(const Region& region) = 0;
  virtual void writes(const Region& region) = 0;
  void reads(const PlacedView& operand) { reads(region(operand)); }
  void writes(const PlacedView& operand) { writes(region(operand)); }
  /// Report state of the step: it reads and writes the region.
  void keeps(const Region& region) {
    reads(region);
    writes(region);
  }
  /// Require a condition; `what` describes it.
  virtual void require(bool holds, const char* what) = 0;
  /// Return whether all requirements so far hold.
  virtual bool holds() const = 0;
  /// A slot while the steps of a loop run: in iteration i it shows chunk i, counted from `from`.
  struct Slot {
    Ref slot;
    Ref from;
    int64_t iterations = 0;
    int64_t chunk_bytes = 0;  ///< bytes from one chunk to the next
  };
  /// Report that this step runs `steps` for `iterations` iterations, with the slots set, and reads
  /// these operands meanwhile.
  virtual void runs(const List<Step>& steps, std::span<const Slot> slots, int64_t iterations,
                    std::span<const PlacedView> reads) = 0;
  /// Return the bytes of a constant region, and report them as read. If the region is not constant,
  /// return null; the requirements then fail.
  virtual const std::byte* contents(const Region& region) = 0;
  /// Report the scratch bytes that each part needs, aligned to 64.
  virtual void scratch(int64_t bytes) = 0;

  /// Report how often the innermost operation of a step runs: the product of these counts. Steps
  /// whose work exceeds the memory that they access, such as matmuls, must report it.
  void works(std::initializer_list<Checked> counts);
  virtual void work(int64_t operations) { (void)operations; }

  /// Require that a number is within bounds, ends included.
  void within(Checked value, int64_t least, int64_t most) {
    require(value.within(least, most), "a count that makes sense");
  }

  /// Return the step's parts according to the plan.
  const StepParts& parts() const { return parts_; }
  /// Report the units of work: `slices` inside loops with these iteration counts.
  void units(int64_t slices, std::span<const int64_t> iterations = {});
  /// Require that an operator infers these outputs from these inputs.
  void infers(const Op& op, std::span<const PlacedView> in, std::span<const PlacedView> out);
  /// Require that two operands have the same type and, except along axis `but`, the same shape. -1
  /// excepts no axis.
  void alike(const PlacedView& a, const PlacedView& b, int64_t but = -1);
  /// Require that an operand has an axis `at`.
  void has_axis(const PlacedView& operand, int64_t at) {
    require(at >= 0 && at < operand.rank, "an axis of its operand");
  }

 private:
  const StepParts& parts_;
};

}  // namespace rill
