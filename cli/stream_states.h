#pragma once

#include "cli/args.h"
#include "cli/exec.h"

namespace rill::cli {

/// Continue the stream from the state of --load-state, if given, and write the resulting state to
/// --save-state instead of ending the stream. The outputs of such runs, concatenated, equal those
/// of one run over all inputs. Errors: kIo; those of `SavedState::load`, of `Feed::make` and of
/// `Feed::finish`.
Result<StreamResult> stream_on(const Args& args, Session* session, std::span<const Tensor> inputs,
                               int64_t frames);

}  // namespace rill::cli
