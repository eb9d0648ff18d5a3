#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pulse/choice.h"

namespace rill::cli {

/// `auto`, `S=auto`, `S=auto:min=8,max=64,max_delay=20,max_latency=40`.
struct AutoPulse {
  std::string symbol{kDefaultStreamSymbol};
  pulse::Bounds bounds;
};
/// Parse such a text; nothing unless it requests a search. Errors: kPulse for contradictory bounds.
Result<std::optional<AutoPulse>> parse_auto_pulse(std::string_view text);

/// Draw CPU time over latency as SVG. `frame_ms` is 0 if unknown.
std::string pulse_picture(const std::vector<pulse::Choice>& choices, double frame_ms,
                          const std::string& title);

}  // namespace rill::cli
