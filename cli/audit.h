#pragma once

#include "cli/pipeline.h"

namespace rill::cli {

/// Audit a pulsed model before it is written, and record the comparisons in its properties.
/// `deterministic`: record no figures, because they depend on the speed of the machine. Errors:
/// kState if a stream differs, with length, mode and frame.
Status audit_before_writing(const CommonOptions& common, const ProofOptions& proof,
                            bool deterministic, const Log& log, const Model& model, Graph* graph);

}  // namespace rill::cli
