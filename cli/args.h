#pragma once

#include <memory>
#include <string>

#include "cli/command.h"

namespace rill::cli {

/// The result of parsing the command line: run `command`, or, if `done`, end with `exit_status`.
struct ParsedArgs {
  bool done = false;
  int exit_status = 0;
  CommonOptions common;
  std::unique_ptr<Command> command;  ///< with its own options
};

/// Return the version of tract that `rill-tract` replaces.
std::string tract_version();

/// Parse the command line. Help goes to stdout; errors go to stderr, with status 2.
ParsedArgs parse_args(int argc, const char* const* argv, Flavor flavor);

}  // namespace rill::cli
