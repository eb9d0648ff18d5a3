#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plan_file/read.h"
#include "plan_file/write.h"

namespace rill::plan_file {

/// Open what was written of plans, target by target, and compare it with them: both must be written
/// as the same bytes. A plan with kernels that this CPU cannot run is checked as it is in memory.
/// Errors: kInternal, with the node of the first step that differs; kNoMem and kUnsupported for a
/// plan that the limits of `options` refuse.
Status expect_reopens(std::span<const std::byte> file, std::span<const TargetPlan> plans,
                      std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options);
/// As above, of a file: its weights are not all in memory at once.
Status expect_file_reopens(const std::string& path, std::span<const TargetPlan> plans,
                           std::span<const StepKind* const> steps,
                           std::span<const OpModule* const> modules, const WriteOptions& options);

/// Write a file of plans, and check that it reopens before it gets its name. `to`: a file that
/// appears when it is committed, such as nnef::AtomicFile.
template <class File>
Status write_reopened(File to, const PlanFile& file, std::span<const TargetPlan> plans,
                      std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options) {
  const std::string& written = to.temporary();
  // A pipe, or another path that is written to directly, cannot be read again.
  if (written.empty()) RILL_TRY(expect_reopens(file.joined(), plans, steps, modules, options));
  RILL_TRY(file.each_piece([&](std::span<const std::byte> piece) { return to.write(piece); }));
  if (!written.empty()) {
    RILL_TRY(expect_file_reopens(written, plans, steps, modules, options));
  }
  return to.commit();
}

}  // namespace rill::plan_file
