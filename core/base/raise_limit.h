#pragma once

#include <string>
#include <string_view>

#include "core/base/text.h"

namespace rill {

/// Return the hint for a limit that callers may raise: `limit` is a field of `options`, a struct of
/// rill.h. The programs and the bindings replace both names by that of their option.
inline std::string raise_limit(std::string_view limit, std::string_view options) {
  return str_cat("Raise ", limit, " of ", options, " if you trust the file");
}
/// As above, for the limits on a file that is loaded.
inline std::string raise_load_limit(std::string_view limit) {
  return raise_limit(limit, "rill_load_opts");
}

}  // namespace rill
