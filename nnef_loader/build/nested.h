#pragma once

#include "core/graph/nnef.h"

namespace rill::nnef {

/// The operators that read other files of the archive: `tract_core_submodel` and
/// `tract_resource_get`.
const OpModule& nested_module();

}  // namespace rill::nnef
