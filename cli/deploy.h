#pragma once

#include "cli/options.h"
#include "cli/pipeline.h"

namespace rill::cli {

/// Apply `--runtime deploy`: prepare a model as a configuration file says. The file that
/// TRACT_CONFIG names has a table per model, under the name of its graph, with `runtime`,
/// `transforms` and `knobs`; variables `TRACT_<MODEL>__<KNOB>` win over it. The knob
/// TRACT_AUTOBATCH_LANES is the number of streams that are stepped together; the others concern
/// caches and waiting, which rill lacks, and have no effect. If a transform added
/// a batch to the model, it runs without the batch, one row at a time; `dump` shows the batch.
/// Errors: kIo, kParse; kArg for an unknown runtime; those of the transforms.
/// Source: tract 0.23.9, deploy runtime.
Status apply_deployment(CommonOptions* common, const Log& log, Model* model);

}  // namespace rill::cli
