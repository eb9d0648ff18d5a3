#pragma once

#include <string>
#include <string_view>

namespace rill::api {

/// Return a hint in the terms of the C API: options of the program become its calls and fields.
std::string hint_in_calls(std::string_view hint);

}  // namespace rill::api
