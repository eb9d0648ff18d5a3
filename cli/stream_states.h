#pragma once

#include "cli/exec.h"

namespace rill::cli {

/// Files of `--load-state` and `--save-state`; empty: none.
struct StreamStates {
  std::string load;
  std::string save;
};

/// Continue the stream from the state of --load-state, if given, and write the resulting state to
/// --save-state instead of ending the stream. The outputs of such runs, concatenated, equal those
/// of one run over all inputs. Errors: kIo; those of `SavedState::load`, of `Feed::make` and of
/// `Feed::finish`.
Result<StreamResult> stream_on(const StreamStates& states, int64_t seed, Session* session,
                               std::span<const Tensor> inputs, int64_t frames);

}  // namespace rill::cli
