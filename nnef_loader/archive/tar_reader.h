#pragma once

#include <vector>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/budget.h"
#include "nnef_loader/archive/stream.h"

namespace rill::nnef {

/// Read the regular files of a tar: v7, ustar, pax, and long names and large sizes of GNU. The
/// stream is read to its end, past the tar's end mark. `packing` and `file` describe the container
/// for messages.
/// Errors: kParse; kUnsupported for sparse files, parts of tars, unknown types of entries, and
/// entries whose size readers interpret differently; those of the stream. Handwritten, because
/// archives are untrusted: libarchive is optional, and accepts entries that readers interpret
/// differently.
/// Source: POSIX.1-2017, pax; GNU tar 1.35, "Basic Tar Format".
Result<std::vector<Entry>> read_tar(InStream* in, std::string_view packing, const std::string& file,
                                    Budget* budget);

}  // namespace rill::nnef
