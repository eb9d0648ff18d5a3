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

/// Two values per occurrence of the option.
struct Pairs {
  std::vector<std::string>* values;
};

/// The destination of the value; an int counts the occurrences of the option.
using Value =
    std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<std::string>*, Pairs>;

struct Option {
  const char* names;  ///< "-O,--optimize"
  unsigned where;
  Value value;
  const char* help;
  const char* group = "";
};

/// An option of tract's command line that rill does not have, or that changes nothing.
struct TractOption {
  enum class Kind { kNoEffect, kNotSupported };
  const char* names;
  unsigned where;
  bool takes_value;
  Kind kind;
  const char* help;
};

/// Return all options, by group, with their places in `args`.
std::vector<Option> options_into(Args* args);
std::span<const TractOption> tract_options();

}  // namespace rill::cli
