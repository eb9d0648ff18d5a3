#pragma once

#include "cli/log.h"

namespace rill::cli {

/// Let signals that mean a defect of the program end it with a line on stderr and status 1: whoever
/// started it looks for that line, and may never look at the status. Not under sanitizers, which
/// tell more themselves.
void tell_of_crashes(Flavor flavor);

}  // namespace rill::cli
