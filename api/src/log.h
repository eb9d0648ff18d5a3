#pragma once

#include <string_view>

#include "api/include/rill/rill.h"

namespace rill::api {

/// Pass a message to the app's log function, if there is one.
void log(rill_log_level level, std::string_view message);

}  // namespace rill::api
