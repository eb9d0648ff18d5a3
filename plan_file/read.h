#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec/plan.h"
#include "core/exec/property.h"
#include "core/graph/nnef.h"
#include "plan_file/limits.h"

namespace rill::plan_file {

/// The step kinds and kernels of a build.
struct Known {
  std::span<const StepKind* const> steps;
  std::span<const OpModule* const> modules;
  /// Return how well a target fits this CPU; negative if it cannot run here.
  std::function<int(std::string_view target)> rank;
  std::string_view cpu;  ///< features of the CPU, for refusals
};

/// Return what the running library knows on this CPU.
Known known_here(std::span<const StepKind* const> steps, std::span<const OpModule* const> modules);

/// A plan opened from a file.
struct OpenedPlan {
  std::shared_ptr<const Plan> plan;
  std::string target;
  std::string audit;                 ///< report of an audit before the file was written, or empty
  std::string weights;               ///< report on the weights, or empty
  std::vector<std::string> targets;  ///< all targets of the file
  std::vector<Property> properties;  ///< of the model, in the order of their keys
};

/// Return whether bytes begin as a plan file does.
bool is_plan_file(std::span<const std::byte> bytes);

/// Open the plan of a file for the best target that runs here. The bytes must stay in place and
/// unchanged as long as `owner` lives, because the plan reads its constants there.
/// The file need not be trusted: the memory that steps touch is checked, in time linear in the
/// records. Only `verify` checks the content of constants. Errors: kParse for a file that is
/// damaged or not a plan file; kAbi for another version; kUnsupported for targets, kernels or steps
/// that this build or CPU lacks; kArg for bytes that are not aligned to 64; kNoMem for a plan
/// beyond the limits.
Result<OpenedPlan> open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                        const Known& known, const Limits& limits = {});

/// Return the kinds of steps in the plans of a file, over all its targets. Errors: kParse, kAbi, as
/// `open`.
Result<std::set<std::string>> kinds_in(std::span<const std::byte> bytes);

/// Read a whole file and check its checksums. Errors: kParse.
Status verify(std::span<const std::byte> bytes, std::span<const std::byte> mapped = {});

}  // namespace rill::plan_file
