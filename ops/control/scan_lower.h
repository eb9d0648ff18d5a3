#pragma once

#include "core/exec/lowering.h"

namespace rill::ops {

struct Scan;

/// Lower a loop: its body becomes separate steps, run once per iteration on slots that move.
Status lower_scan(const Scan& scan, Lowering& lowering);

}  // namespace rill::ops
