#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rill::plan_file {

/// A sum over bytes that changes where any of them does, most likely.
uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace rill::plan_file
