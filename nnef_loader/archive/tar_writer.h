#pragma once

#include <span>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/stream.h"

namespace rill::nnef {

/// Write a tar with GNU's long names and large sizes, in whole tape blocks if `padded`.
/// Source: GNU tar 1.35, "Basic Tar Format".
Status write_tar(std::span<const Entry> entries, bool padded, OutStream* out);

}  // namespace rill::nnef
