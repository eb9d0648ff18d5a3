#pragma once

#include "cli/pipeline.h"

namespace rill::cli {

/// `compare --stream`: whole runs against streamed runs, over many lengths.
Status compare_stream(const CommonOptions& common, const CheckOptions& checks, const Log& log,
                      const Model& model);

}  // namespace rill::cli
