#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "plan_file/compile.h"

namespace rill::cli {

/// C files to write for a compiled model; empty: none.
struct SourceOptions {
  std::string embed;
  std::string table;
  std::vector<std::string> with;  ///< compiled models whose kinds of steps the table has too
};

/// Write the requested sources that programs with a compiled model need: `--embed`, the file as a
/// constant of C; `--table`, the list of its kinds of steps and of those of the compiled models
/// that `--with` names. `plans` names the node of a step that no list can contain; for an existing
/// file, nodes are unknown. Errors: kUnsupported for a kind of steps that only the whole library
/// runs; those of files.
Status write_plan_sources(const SourceOptions& options, std::span<const std::byte> file,
                          std::span<const plan_file::TargetPlan> plans);

}  // namespace rill::cli
