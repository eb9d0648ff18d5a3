#pragma once

#include "cli/log.h"

namespace rill::cli {

/// The exit status after a defect of the program, as `EX_SOFTWARE` of sysexits.h. No error uses it,
/// so that scripts can distinguish a crash from a refusal.
constexpr int kCrashStatus = 70;

/// End the program with a line on stderr and `kCrashStatus` when a signal reports a defect. Callers
/// that search stderr for errors find that line. Builds for sanitizers leave the signals alone, as
/// sanitizers report more.
void report_crashes(Flavor flavor);

}  // namespace rill::cli
