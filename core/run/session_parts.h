#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/run/plan.h"

namespace rill {

/// The purpose of a part of a session's memory. It decides how operations treat the part.
///
///              a step        a reset              a clone
///   kArena     scratch       unchanged            not copied
///   kAddresses read          computed again       computed again
///   kState     updated       as in the plan       copied
///   kPlaces    updated       zeros                copied
///   kInput     read          unchanged            copied
///   kOutput    written       unchanged            copied
enum class PartUse : uint8_t {
  kArena,      ///< values that one step of the plan passes to another
  kAddresses,  ///< the address of each buffer of the plan
  kState,      ///< state of nodes
  kPlaces,     ///< per ring, the frame at which its window begins (int64_t)
  kInput,      ///< the session's own buffer of an input
  kOutput,     ///< the session's own buffer of an output
};

/// A part of a session's memory block.
struct SessionPart {
  PartUse use = PartUse::kArena;
  size_t index = 0;  ///< index of the input or output
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// The list of all parts of a session's memory. The memory block contains the list itself, which
/// cloning, reset and memory reports use.
struct SessionParts {
  std::span<const SessionPart> all;
  size_t inputs = 0;  ///< number of parts of inputs; these precede the parts of outputs
  int64_t bytes = 0;  ///< size of the block

  static int64_t bytes_for(const Plan& plan) RILL_NONBLOCKING;
  /// List the parts at the start of a block.
  void lay_out(const Plan& plan, std::byte* block) RILL_NONBLOCKING;

  /// Return the part with this use, for input or output `index`. Takes constant time, since a plan
  /// may have 65 536 inputs and outputs each.
  const SessionPart& of(PartUse use, size_t index = 0) const RILL_NONBLOCKING;
};

/// Return whether a clone copies the part.
inline bool is_kept(PartUse use) RILL_NONBLOCKING {
  return use != PartUse::kArena && use != PartUse::kAddresses;
}

}  // namespace rill
