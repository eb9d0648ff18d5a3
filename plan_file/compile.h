#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec/weight_choice.h"
#include "core/graph/graph.h"
#include "kernels/target.h"
#include "plan_file/write.h"

namespace rill::plan_file {

struct CompileOptions {
  /// CPUs to make plans for; empty means this one.
  std::vector<kernels::Target> targets;
  /// Requested formats of weights, and the report about them; null: keep all in f32.
  WeightChoice* weights = nullptr;
  bool optimize = true;
  bool notes = true;  ///< names and operands for profiles
};

/// Parse a list of CPUs, each once: "native", "avx2,neon". `option`: the caller's name for it.
/// Errors: kArg for unknown ones, kUnsupported for those without kernels in this build.
Result<std::vector<kernels::Target>> targets_named(std::string_view list, std::string_view option);

/// Return the result of a graph's audit as text; empty if none ran.
std::string audit_text(const Graph& graph);

/// Make plans of a graph without free symbols, one per target, under the name of the least CPU that
/// runs it. Plans of equal names are made once.
/// Errors: those of `prepare`.
Result<std::vector<TargetPlan>> compile(const Graph& graph,
                                        std::span<const OpModule* const> modules,
                                        const CompileOptions& options);

}  // namespace rill::plan_file
