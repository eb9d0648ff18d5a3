#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rill::test {

/// Open a compiled model that may be anything through rill.h, with small limits, and make the calls
/// that `calls` names, in any order: steps, pushes, pulls, ends, states, clones, resets, common
/// steps and profiles of a few sessions. Ends the process where a call that fails says nothing.
/// Return how many calls succeeded; -1 where the model is refused.
int64_t call_plan(std::span<const std::byte> file, std::span<const uint8_t> calls);

}  // namespace rill::test
