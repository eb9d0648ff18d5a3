#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cli/args.h"

namespace rill::cli {

/// Where an option may be written.
enum Where : unsigned {
  kGlobal = 1,
  kOnRun = 2,
  kOnDump = 4,
  kOnBench = 8,
  kOnCompare = 16,
  kOnStream = 32,
  kOnInspect = 64,
  kOnCheck = 128,
  kOnHwBench = 256,
  kOnAudit = 512,
  kOnCompile = 1024,
  kOnAll = kOnRun | kOnDump | kOnBench | kOnCompare | kOnStream | kOnCheck,
  kOnTract = kOnRun | kOnDump | kOnBench | kOnCompare,
  kChecks = kOnRun | kOnDump | kOnBench | kOnCompare | kOnStream,
};

/// An option of tract's command line that rill does not have: using it is an error with its name.
struct Refused {
  bool takes_value;
  bool never;  ///< it makes no sense here, as opposed to: not there
};

using Slot = std::variant<bool Args::*, int Args::*, int64_t Args::*, double Args::*,
                          std::string Args::*, std::vector<std::string> Args::*, Refused>;

struct OptionRow {
  const char* names;  ///< "-O,--optimize"
  unsigned where;
  Slot slot;
  const char* help;
};

std::span<const OptionRow> option_table();

}  // namespace rill::cli
