#pragma once

#include "core/graph/nnef.h"

namespace rill::nnef {

/// Return the operators that read other files of the archive: `tract_core_submodel` and
/// `tract_resource_get`.
const OpModule& nested_module();

}  // namespace rill::nnef
