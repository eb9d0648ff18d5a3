#pragma once

#include "cli/log.h"

namespace rill::cli {

/// The exit status after a defect of the program, as `EX_SOFTWARE` of sysexits.h. An error ends
/// with another one, so that a script cannot take a crash for a refusal.
constexpr int kCrashStatus = 70;

/// End the program with a line on stderr and `kCrashStatus` when a signal reports a defect.
/// Callers that search stderr for errors find that line. Sanitizers report more by themselves, so
/// that their builds leave the signals alone.
void tell_of_crashes(Flavor flavor);

}  // namespace rill::cli
