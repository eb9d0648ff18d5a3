#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.h"

namespace rill::nnef {

/// A JSON value. Integers within 64 bits are `int64_t`; a null is `std::monostate`.
struct Json {
  using Array = std::vector<Json>;
  struct Member;
  using Object = std::vector<Member>;
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> v;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&v);
  }
  /// Follow a path such as "$.layers[0].size". Null if there is no such value.
  /// Errors: kArg if the path is malformed.
  Result<const Json*> at(std::string_view path) const;
};

struct Json::Member {
  std::string key;
  Json value;
};

/// Read a whole text. `file` is for messages. If keys are equal, the last one counts. Handwritten,
/// because archives are untrusted: nesting is bounded, nothing throws, and errors have a line.
/// Errors: kParse, with the line.
Result<Json> parse_json(std::string_view text, std::string_view file);

}  // namespace rill::nnef
