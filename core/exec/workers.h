#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/run/pool.h"

namespace rill {

/// Make a pool of `threads` threads; the thread that calls a step is the first. The others poll for
/// work for 50 microseconds, then sleep. They end with the last owner of the pool. They inherit the
/// scheduling of the thread that calls this, and block all signals.
/// The calling thread starts the work, and runs every part that no other thread takes. If a step of
/// another session occupies the pool, the calling thread runs the whole step. Errors: kArg unless
/// `threads` is 1 to `kMostThreads`; kNoMem if the system has no thread left. Real-time: no.
/// Running work does not allocate. It makes system calls to wake sleeping threads, and to wait for
/// a last part that takes long.
Result<std::shared_ptr<const Pool>> make_pool(uint32_t threads);

}  // namespace rill
