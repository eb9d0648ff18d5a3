#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/refusal.h"
#include "core/run/plan.h"

namespace rill {

/// Remedies for a plan that a build cannot run. The strings live as long as the program.
struct Remedies {
  const char* other_target = "Compile the model with --target for what runs here";
  const char* operators = "Link librill, which has graphs and operators";
  const char* missing = "Link the kinds of steps that the plan has, or compile it for this build";
};

/// The step kinds and kernels of a build.
struct Runner {
  std::span<const StepKind* const> kinds;
  /// Return how well a target fits this CPU; negative if it cannot run here.
  int (*rank)(std::string_view target) = nullptr;
  bool names = false;  ///< read the names of nodes that the file has, for profiles
  Remedies remedies = {};
};

/// The result of placing a plan file.
struct PlacedPlan {
  const Plan* plan = nullptr;  ///< at the start of the memory, as long as that and the file stay
  int64_t bytes = 0;           ///< bytes of memory for the plan
  std::span<const std::byte> properties;  ///< their record in the file, not read
};

/// Place the plan of a file (docs/plan-files.md) for the best target that runs here, in memory
/// aligned to 64 bytes. The plan reads constants from the file, which must be aligned to 64 bytes
/// too. Placing never allocates, and nothing must be freed. With empty memory, only report how many
/// bytes placing needs.
/// It checks that numbers fit their types and that lists fit the file, but not which memory steps
/// touch: the file counts as part of the program. Errors: kParse if it is not a plan file; kAbi for
/// another version; kUnsupported for targets, kinds of steps or kernels that the build lacks; kArg
/// for unaligned memory; kNoMem with the bytes needed. After an error nothing is placed.
Refusal place_plan(std::span<const std::byte> file, std::span<std::byte> memory,
                   const Runner& runner, PlacedPlan* placed);

}  // namespace rill
