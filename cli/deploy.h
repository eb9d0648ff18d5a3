#pragma once

#include "cli/args.h"
#include "cli/pipeline.h"

namespace rill::cli {

/// `--runtime deploy`: prepare a model as a file says, outside of the command line. The file that
/// TRACT_CONFIG names has a table per model, under the name of its graph, with `runtime`,
/// `transforms` and `knobs`; variables `TRACT_<MODEL>__<KNOB>` win over it. Of the knobs
/// TRACT_AUTOBATCH_LANES is the number of streams that are stepped together; the others are about
/// caches and waiting, of which rill has none, and change nothing.
/// A model whose batch the transforms added runs as it was handed over, a row at a time; `dump`
/// shows it with the batch.
/// Errors: kIo, kParse; kArg for an unknown runtime; those of the transforms.
/// Source: tract 0.23.9, deploy runtime.
Status apply_deployment(Args* args, const Log& log, Model* model);

}  // namespace rill::cli
