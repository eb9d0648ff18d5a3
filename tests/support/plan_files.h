#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan_file/read.h"

namespace rill::test {

/// Return the kernels and steps of this build, for the CPU limit of the test.
plan_file::Known known_here();

/// The bytes of a file at the alignment of a map, with no readable bytes after them.
struct Mapped {
  std::shared_ptr<std::byte> memory;
  std::span<const std::byte> bytes;
};
Mapped mapped(std::span<const std::byte> file);

/// Write a plan for the target of the test's CPU limit.
Result<std::vector<std::byte>> written(const Plan& plan);

/// Open a file with the run library alone.
Result<std::shared_ptr<const Plan>> placed_here(const Mapped& file);

/// Open untrusted bytes with the whole library and with the run library, once as given and once
/// with corrected checksums. If the bytes are a plan, query its streams. If the plan is small, run
/// it, push and pull its stream to the end, and save and load its state. Return whether the whole
/// library opened it.
bool try_plan_file(std::span<const std::byte> bytes);

}  // namespace rill::test
