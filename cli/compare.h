#pragma once

#include "cli/pipeline.h"

namespace rill::cli {

/// Run `compare --stream`: compare streams of many lengths with whole runs.
Status compare_stream(const CommonOptions& common, const CheckOptions& checks, const Log& log,
                      const Model& model);

}  // namespace rill::cli
