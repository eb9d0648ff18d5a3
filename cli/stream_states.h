#pragma once

#include "cli/args.h"
#include "cli/exec.h"

namespace rill::cli {

/// Stream the inputs on from the state of --load-state, if there is one, and write the state that
/// they lead to to --save-state instead of ending the stream. What the outputs of such runs have,
/// put end to end, is what one run over all inputs has.
/// Errors: kIo; those of `SavedState::load`, of `Feed::make` and of `Feed::finish`.
Result<StreamResult> stream_on(const Args& args, Session* session, std::span<const Tensor> inputs,
                               int64_t frames);

}  // namespace rill::cli
