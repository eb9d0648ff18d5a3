#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/refusal.h"
#include "core/run/plan.h"

namespace rill {

/// Remedies for a plan that a build cannot run. The strings must live as long as the program.
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
  bool names = false;  ///< read the names of nodes, for profiles, if the file has them
  Remedies remedies = {};
};

/// The result of placing a plan file.
struct PlacedPlan {
  const Plan* plan = nullptr;  ///< at the start of the memory; valid as long as that and the file
                               ///< are
  int64_t bytes = 0;           ///< bytes of memory for the plan
  std::span<const std::byte> properties;  ///< the record of properties in the file, not parsed
};

/// Place the plan of a file (docs/plan-files.md) for the best target that runs here, in memory
/// aligned to 64 bytes. The plan reads constants from the file, which must be aligned to 64 bytes
/// too. Placing never allocates, and there is nothing to free. With empty memory, only report how
/// many bytes placing needs.
/// Checks that numbers fit their types and that lists fit the file, but not which memory steps
/// access: the file counts as part of the program. Errors: kParse if it is not a plan file; kAbi
/// for another version or byte order; kUnsupported for targets, kinds of steps or kernels that the
/// build lacks; kArg for unaligned memory; kNoMem with the number of bytes needed. After an error,
/// nothing is placed.
Refusal place_plan(std::span<const std::byte> file, std::span<std::byte> memory,
                   const Runner& runner, PlacedPlan* placed);

}  // namespace rill
