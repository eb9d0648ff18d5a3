#pragma once

#include <span>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/stream.h"

namespace rill::nnef {

/// Write a zip of deflated entries.
/// Errors: kArg for over 65534 entries or 4 GiB; kNoMem; those of `out`.
/// Source: PKWARE, APPNOTE.TXT 6.3.10.
Status write_zip(std::span<const Entry> entries, OutStream* out);

}  // namespace rill::nnef
