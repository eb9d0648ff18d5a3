#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/log.h"
#include "cli/options.h"

namespace rill::cli {

enum class Command {
  kDump,
  kRun,
  kBench,
  kCompare,
  kStream,
  kInspect,
  kCheck,
  kAudit,
  kCompile,
  kModules,
  kListOps,
  kListOnnxOps,
  kListRuntimes,
  kListKnobs,
  kKernels,
  kHwBench
};

/// The command line, as written; values are read by whoever uses them.
/// The command line, as written; values are read by whoever uses them.
struct Args {
  Flavor flavor = Flavor::kRill;
  Command command = Command::kDump;
  std::string command_name = "dump";
  std::string file;                ///< the model's
  std::vector<std::string> given;  ///< the options that were written, each by its first long name

  ProgramOptions program;
  ModelOptions model;
  StreamingOptions streaming;
  LimitOptions limits;
  ValueOptions values;
  CheckOptions checks;
  RunOptions run;
  SessionOptions stream;
  WriteOptions write;
  ViewOptions view;
  LoopOptions loop;
  LoadOptions load;
  CompareOptions compare;
  InspectOptions inspect;
  ProofOptions proof;
  CompileOptions compile;
  HwBenchOptions hwbench;
};

/// The result of parsing the command line: continue with `args`, or end with a status after all
/// output.
struct ParsedArgs {
  bool done = false;
  int exit_status = 0;
  Args args;
};

/// The version of tract that `rill-tract` stands in for.
std::string tract_version();

/// Parse the command line. Help goes to stdout; errors go to stderr, with status 2.
ParsedArgs parse_args(int argc, const char* const* argv, Flavor flavor);

}  // namespace rill::cli
