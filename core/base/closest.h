#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rill {

/// Find the name that was probably meant: the one with the fewest letters put in, left out,
/// replaced or swapped. Empty if none is near, which is a third of the letters at most.
std::string_view closest(std::string_view name, std::span<const std::string_view> names);

/// The same as a next step: `Did you mean "X"?`, or an empty text.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);

}  // namespace rill
