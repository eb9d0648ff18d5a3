#pragma once

#include "core/exec/lowering.h"

namespace rill::ops {

struct Scan;

/// Lower a loop to a step that runs the body's steps once per iteration; the addresses of scanned
/// inputs and of outputs advance.
Status lower_scan(const Scan& scan, Lowering& lowering);

}  // namespace rill::ops
