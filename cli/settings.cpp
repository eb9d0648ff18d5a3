#include "cli/settings.h"

#include "cli/specs.h"
#include "core/base/search.h"

namespace rill::cli {

Result<std::vector<std::pair<std::string, Dim>>> parse_settings(
    std::span<const std::string> texts) {
  std::vector<std::pair<std::string, Dim>> out;
  for (const std::string& text : texts) {
    RILL_ASSIGN(auto setting, parse_setting(text));
    const auto earlier =
        find_if(out, [&](const auto& other) { return other.first == setting.first; });
    if (earlier == out.end()) {
      out.push_back(std::move(setting));
    } else if (!(earlier->second == setting.second)) {
      return fail(Code::kArg, "--set ", setting.first, "=", earlier->second, " and --set ",
                  setting.first, "=", setting.second, " give ", setting.first, " two values")
          .hint("Set a symbol once");
    }
  }
  return out;
}

}  // namespace rill::cli
