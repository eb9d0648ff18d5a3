#pragma once

#include "cli/log.h"

namespace rill::cli {

/// Run a command line from start to end. Returns the exit status: 0 for success, 1 for any error,
/// 2 for a wrong command line.
int run_program(int argc, char** argv, Flavor flavor);

}  // namespace rill::cli
