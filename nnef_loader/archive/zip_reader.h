#pragma once

#include <vector>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/budget.h"
#include "nnef_loader/archive/entry_names.h"
#include "nnef_loader/archive/source.h"

namespace rill::nnef {

/// Read the regular files of a zip, stored or deflated, by the directory at its end.
/// Errors: kParse; kUnsupported for encrypted entries, other methods and zips in several parts;
/// kNoMem. Handwritten, because archives are untrusted and libarchive is optional; zlib inflates.
/// Source: PKWARE, APPNOTE.TXT 6.3.10.
Result<std::vector<Entry>> read_zip(const Source& source, Budget* budget, NameRule rule);

}  // namespace rill::nnef
