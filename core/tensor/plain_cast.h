#pragma once

#include "core/base/nonblocking.h"
#include "core/tensor/view.h"

namespace rill {

/// Convert elements of one plain type to those of another, as `cast_into` does. Real-time: yes.
void cast_plain(const View& from, const View& to) RILL_NONBLOCKING;

}  // namespace rill
