#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/run/plan.h"
#include "kernels/cpu.h"

namespace rill::test {

/// The tiers that this build has and this CPU runs.
std::vector<kernels::Tier> tiers_here();

/// How many cases of operators there are to compile.
size_t plan_bases();

/// The plan files of a case of tests/operators/cases for a tier, streams and whole runs, compiled
/// once. Sets the limit of the CPU to that tier.
const std::vector<std::vector<std::byte>>& plan_base(size_t number, kernels::Tier tier);

/// The plan of a stream of shape [1, 2, S]. The statements make `y` of `x`.
std::shared_ptr<const Plan> streamed_plan(const char* statements, int64_t pulse);

/// A stream with a ring, a state and a delay.
std::shared_ptr<const Plan> small_plan();

}  // namespace rill::test
