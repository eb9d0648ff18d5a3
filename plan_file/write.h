#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/exec/plan.h"
#include "core/exec/property.h"
#include "core/graph/nnef.h"

namespace rill::plan_file {

/// A plan made for a target.
struct TargetPlan {
  std::string target;  ///< name of the tier whose kernels it has
  std::shared_ptr<const Plan> plan;
};

struct WriteOptions {
  bool notes = true;  ///< names of nodes for profiles, what steps read and write
  std::string audit;  ///< what an audit of the model said; empty if none ran
  std::string weights;  ///< what was done to the weights; empty if nothing
  std::vector<Property> properties;  ///< of the model, in the order of their keys
};

/// Give the bytes of a file that holds plans of one model. The same plans give the same bytes.
/// `modules` are those of the operators that plans call.
/// Errors: kUnsupported for a plan with values that no file holds, such as strings, and for more
/// properties than a file holds.
Result<std::vector<std::byte>> write(std::span<const TargetPlan> plans,
                                     std::span<const OpModule* const> modules,
                                     const WriteOptions& options = {});

/// Recompute the checksums of a file, for tests that alter it.
void seal(std::span<std::byte> file);

}  // namespace rill::plan_file
