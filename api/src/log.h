#pragma once

#include <string_view>

#include "api/include/rill/rill.h"

namespace rill::api {

/// Hand a message to the app, if it asked for any.
void log(rill_log_level level, std::string_view message);

}  // namespace rill::api
