#pragma once

#include <span>
#include <string>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/atomic_file.h"

namespace rill::nnef {

/// Write entries, whose names are checked, as a tar, tgz or zip. `path` is for messages. Errors:
/// kIo; kNoMem; kUnsupported for containers that this build does not write.
Status pack(Container container, std::span<const Entry> entries, const std::string& path,
            AtomicFile* file);

}  // namespace rill::nnef
