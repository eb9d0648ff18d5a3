#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/base/progress.h"
#include "plan_file/read.h"
#include "plan_file/write.h"

namespace rill::plan_file {

/// Open a written file, target by target, and compare it with its plans: both must be written as
/// the same bytes. A plan whose kernels cannot run on this CPU is checked in memory instead.
/// Errors: kInternal, with the node of the first step that differs; kNoMem and kUnsupported for a
/// plan that the limits of `options` refuse.
Status expect_reopens(std::span<const std::byte> file, std::span<const TargetPlan> plans,
                      std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options);
/// As above, from a file on disk, whose weights are not all in memory at once.
Status expect_file_reopens(const std::string& path, std::span<const TargetPlan> plans,
                           std::span<const StepKind* const> steps,
                           std::span<const OpModule* const> modules, const WriteOptions& options);

/// The share of the progress that writing gets; reading back gets the rest.
inline constexpr double kWriting = 0.4;

/// Write a file of plans, and check that it reopens before it gets its name. `to`: a file that
/// appears under its name on commit, such as nnef::AtomicFile.
template <class File>
Status write_reopened(File to, const PlanFile& file, std::span<const TargetPlan> plans,
                      std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options) {
  const std::string& written = to.temporary();
  // A pipe, or another path that is written directly, cannot be read back.
  if (written.empty()) RILL_TRY(expect_reopens(file.joined(), plans, steps, modules, options));
  int64_t bytes = 0;
  const auto write = [&](std::span<const std::byte> piece) -> Status {
    bytes += static_cast<int64_t>(piece.size());
    RILL_TRY(progress(kWriting * static_cast<double>(bytes) / static_cast<double>(file.bytes())));
    return to.write(piece);
  };
  RILL_TRY(file.each_piece(write));
  if (!written.empty()) {
    RILL_TRY(expect_file_reopens(written, plans, steps, modules, options));
  }
  RILL_TRY(progress(1));
  return to.commit();
}

}  // namespace rill::plan_file
