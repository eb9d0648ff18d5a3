#pragma once

#include <set>
#include <span>
#include <string>

#include "cli/args.h"
#include "core/base/status.h"
#include "plan_file/compile.h"

namespace rill::cli {

/// Write what programs are built with beside a compiled model, as far as it is asked for:
/// `--embed`, the file as a constant of C; `--table`, the list of its kinds of steps and of those
/// of the compiled models that `--with` names. `plans` tell which node has a step that no list can
/// name; none are known of a file that was compiled before.
/// Errors: kUnsupported for a kind of steps that the whole library alone runs; those of files.
Status write_plan_sources(const Args& args, std::span<const std::byte> file,
                          std::span<const plan_file::TargetPlan> plans);

}  // namespace rill::cli
