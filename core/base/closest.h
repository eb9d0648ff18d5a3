#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rill {

/// Return the name with the fewest insertions, deletions, replacements and swaps of letters from a
/// mistyped name. Empty if each name needs more edits than a third of the letters.
std::string_view closest(std::string_view name, std::span<const std::string_view> names);

/// Return the closest name as a hint: `Did you mean "X"?`, or an empty text.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);

}  // namespace rill
