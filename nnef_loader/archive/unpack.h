#pragma once

#include <vector>

#include "core/base/status.h"
#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/budget.h"
#include "nnef_loader/archive/entry_names.h"
#include "nnef_loader/archive/source.h"

namespace rill::nnef {

Result<std::vector<Entry>> unpack_tar(const Source& source, Budget* budget);
Result<std::vector<Entry>> unpack_tgz(const Source& source, Budget* budget);
Result<std::vector<Entry>> unpack_zip(const Source& source, Budget* budget, NameRule rule);

}  // namespace rill::nnef
