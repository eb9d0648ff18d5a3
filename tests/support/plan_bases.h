#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/run/plan.h"
#include "kernels/cpu.h"

namespace rill::test {

/// Return the tiers that this build has and this CPU runs.
std::vector<kernels::Tier> tiers_here();

/// Return the number of cases of operators to compile.
size_t plan_bases();

/// Return the plan files of a case of tests/operators/cases for a tier, both streams and whole
/// runs. Each is compiled once. Limits the CPU to that tier.
const std::vector<std::vector<std::byte>>& plan_base(size_t number, kernels::Tier tier);

/// Return the plan of a stream x of shape [1, 2, S]; the statements compute `y` from `x`.
std::shared_ptr<const Plan> streamed_plan(const char* statements, int64_t pulse);

/// Return the plan of a stream with a ring, a state and a delay.
std::shared_ptr<const Plan> small_plan();

}  // namespace rill::test
