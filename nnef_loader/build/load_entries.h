#pragma once

#include <vector>

#include "nnef_loader/load.h"

namespace rill::nnef {

/// As `load`, from the files of an unpacked archive.
/// `nesting`: the number of enclosing models.
Result<Graph> load_entries(std::vector<Entry> entries, std::span<const OpModule* const> ops,
                           const LoadOptions& options = {}, int nesting = 0);

}  // namespace rill::nnef
