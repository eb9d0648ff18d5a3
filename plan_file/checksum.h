#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rill::plan_file {

/// A sum over bytes that changes where any of them does, most likely. By hand, because librill_run
/// needs no other library and sums 32 bytes at a time.
uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace rill::plan_file
