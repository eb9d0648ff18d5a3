#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rill::test {

/// Open an untrusted compiled model through rill.h, with small limits, and make the calls that
/// `calls` encodes, in any order: steps, pushes, pulls, ends, states, clones, resets, common steps
/// and profiles of a few sessions. Ends the process if a failing call reports no error. Return the
/// number of calls that succeeded; -1 if the model is refused.
int64_t call_plan(std::span<const std::byte> file, std::span<const uint8_t> calls);

}  // namespace rill::test
