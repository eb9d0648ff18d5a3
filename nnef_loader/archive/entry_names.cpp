#include "nnef_loader/archive/entry_names.h"

#include <unordered_set>

namespace rill::nnef {

Result<std::optional<std::string>> entry_name(std::string_view raw, NameRule rule) {
  if (rule == NameRule::kKey) {
    return raw.empty() ? std::nullopt : std::optional<std::string>(raw);
  }
  if (raw.starts_with("/")) {
    return fail(Code::kParse, "entry \"", raw, "\" has an absolute name");
  }
  if (raw.starts_with("./")) raw.remove_prefix(2);
  bool hidden = raw.empty();
  for (size_t begin = 0; begin <= raw.size();) {
    const size_t end = std::min(raw.find('/', begin), raw.size());
    const std::string_view part = raw.substr(begin, end - begin);
    if (part == "..") {
      return fail(Code::kParse, "entry \"", raw, "\" leaves the archive by `..`");
    }
    hidden = hidden || part.starts_with(".");
    begin = end + 1;
  }
  return hidden ? std::nullopt : std::optional<std::string>(raw);
}

Status check_unique(std::span<const Entry> entries, Code code) {
  std::unordered_set<std::string_view> names;
  for (const Entry& entry : entries) {
    if (!names.insert(entry.name).second) {
      return fail(code, "entry \"", entry.name, "\" is there twice");
    }
  }
  return {};
}

}  // namespace rill::nnef
