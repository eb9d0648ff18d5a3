#pragma once

#include "core/base/nonblocking.h"
#include "core/tensor/view.h"

namespace rill {

/// Cast elements between plain types, as `cast_into` does. Real-time: yes.
void cast_plain(const View& from, const View& to) RILL_NONBLOCKING;

}  // namespace rill
