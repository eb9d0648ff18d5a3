#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/run/plan.h"

namespace rill {

/// What a part of a session's memory is for, and so what becomes of it.
///
///              a step        a reset              a clone
///   kArena     scratch       left as it is        not copied
///   kAddresses read          made anew            made anew
///   kState     goes on       begins as the plan   copied
///   kPlaces    goes on       zeros                copied
///   kInput     read          left as it is        copied
///   kOutput    written       left as it is        copied
enum class PartUse : uint8_t {
  kArena,      ///< what lives from one step of the plan to another
  kAddresses,  ///< where each buffer of the plan begins
  kState,      ///< what nodes keep
  kPlaces,     ///< int64_t frames: where the window of each ring begins
  kInput,      ///< the session's own buffer of an input
  kOutput,     ///< the session's own buffer of an output
};

/// A part of the one block of memory that a session has.
struct SessionPart {
  PartUse use = PartUse::kArena;
  size_t index = 0;  ///< of the input or output
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// All memory of a session. The block is as large as this list tells, which lies in it as well, so
/// that there is none besides; clone, reset and the bytes that are told go by it too.
struct SessionParts {
  std::span<const SessionPart> all;
  int64_t bytes = 0;  ///< of the block

  static int64_t bytes_for(const Plan& plan) RILL_NONBLOCKING;
  /// List the parts at the start of a block.
  void lay_out(const Plan& plan, std::byte* block) RILL_NONBLOCKING;

  /// The part of that use, of that input or output.
  const SessionPart& of(PartUse use, size_t index = 0) const RILL_NONBLOCKING;
};

/// Return whether a session goes on from what lies there, so that a clone needs it.
inline bool is_kept(PartUse use) RILL_NONBLOCKING {
  return use != PartUse::kArena && use != PartUse::kAddresses;
}

}  // namespace rill
