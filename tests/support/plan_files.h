#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan_file/read.h"

namespace rill::test {

/// The kernels and steps of this build, for the CPU that tests pretend to have.
plan_file::Known known_here();

/// The bytes of a file where a map would have them, with nothing behind.
struct Mapped {
  std::shared_ptr<std::byte> memory;
  std::span<const std::byte> bytes;
};
Mapped mapped(std::span<const std::byte> file);

/// The file of a plan for the target that tests pretend to have.
Result<std::vector<std::byte>> written(const Plan& plan);

/// Open a file with the run library alone.
Result<std::shared_ptr<const Plan>> placed_here(const Mapped& file);

/// Open untrusted bytes with the whole library and with the run library, once with corrected
/// checksums; if they are a plan, query how it streams. If it runs quickly, run it, push and pull
/// its stream to the end, and save and load its state. Return whether the whole library opened it.
bool try_plan_file(std::span<const std::byte> bytes);

}  // namespace rill::test
