#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/refusal.h"
#include "core/run/plan.h"

namespace rill {

/// What to do with a plan that a build cannot run. They live as long as the program.
struct Remedies {
  const char* other_target = "Compile the model with --target for what runs here";
  const char* operators = "Link librill, which has graphs and operators";
  const char* missing = "Link what the plan needs, or compile it for this build";
};

/// What a build runs plans with.
struct Runner {
  std::span<const StepKind* const> kinds;
  /// How good a target is for this CPU; negative: it cannot run here.
  int (*rank)(std::string_view target) = nullptr;
  bool names = false;  ///< have the names of nodes, for profiles, as far as the file has them
  Remedies remedies = {};
};

/// How a plan file was placed.
struct PlacedPlan {
  const Plan* plan = nullptr;  ///< at the start of the memory, as long as that and the file stay
  int64_t bytes = 0;           ///< that placing takes
};

/// Place the plan of a file (docs/compiled.md) for the best target that runs here in memory that is
/// aligned to 64 bytes. Constants are read where they lie in the file, which is aligned to 64 bytes
/// as well; the heap is asked for nothing, and nothing is to be freed. Empty memory: only tell how
/// many bytes placing takes.
///
/// That numbers have their types and lists their lengths is checked; what steps touch is not: the
/// file is one that a program was built with.
/// Errors: kParse for what is no plan file; kAbi for another version; kUnsupported for targets,
/// kinds of steps or kernels that the build lacks; kArg for what is not aligned; kNoMem with the
/// bytes that are needed. Nothing is placed then.
Refusal place_plan(std::span<const std::byte> file, std::span<std::byte> memory,
                   const Runner& runner, PlacedPlan* placed);

}  // namespace rill
