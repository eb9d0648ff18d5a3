#pragma once

#include <optional>
#include <string_view>

#include "pulse/ready.h"

namespace rill::pulse {

/// Join constant frames that precede the stream, such as learned prompts, to the inputs of
/// attention instead of further upstream. The operators in between work frame by frame, so they
/// compute these frames separately. A query then finds them as keys without delay. Nothing if there
/// are no such frames. `pads`: whether padding counts as such frames.
Result<std::optional<Ready>> join_front_late(const Ready& ready, std::string_view symbol,
                                             bool pads);

}  // namespace rill::pulse
