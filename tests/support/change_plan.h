#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rill::test {

/// A change to the numbers of a plan file, whose records are sequences of numbers.
struct PlanChange {
  enum class Kind : uint8_t {
    kExtreme,    ///< set a number to one at the end of some range, `value`
    kNear,       ///< add a small number to it
    kShift,      ///< move its bits
    kSwap,       ///< swap it with the number `reach` later
    kCopy,       ///< set it to the number `reach` later
    kDrop,       ///< leave it out
    kRepeat,     ///< write it twice
    kDropFew,    ///< drop an entry of `value` numbers from a list, and decrease its count
    kRepeatFew,  ///< repeat an entry of `value` numbers of a list, and increase its count
    kConstant,   ///< set a byte of a constant
  };
  static constexpr int kKinds = 10;

  uint8_t kind = 0;  ///< taken modulo `kKinds`
  uint8_t value = 0;
  uint16_t reach = 0;
  uint32_t place = 0;  ///< the index of the number, modulo their count
};

/// Return the file with changes to the record of its first plan. Sizes and checksums are corrected,
/// so that a reader must refuse the numbers themselves. Notes are dropped.
std::vector<std::byte> changed(std::span<const std::byte> file, std::span<const PlanChange> all);

/// Return the number of numbers in the record of the first plan.
size_t numbers_in(std::span<const std::byte> file);

}  // namespace rill::test
