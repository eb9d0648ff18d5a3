#pragma once

#include <set>
#include <span>
#include <string>

#include "cli/args.h"
#include "core/base/status.h"
#include "plan_file/compile.h"

namespace rill::cli {

/// Write the requested sources that programs with a compiled model need: `--embed`, the file as a
/// constant of C; `--table`, the list of its kinds of steps and of those of the compiled models
/// that `--with` names. `plans` names the node of a step that no list can contain; for an existing
/// file, nodes are unknown. Errors: kUnsupported for a kind of steps that only the whole library
/// runs; those of files.
Status write_plan_sources(const Args& args, std::span<const std::byte> file,
                          std::span<const plan_file::TargetPlan> plans);

}  // namespace rill::cli
