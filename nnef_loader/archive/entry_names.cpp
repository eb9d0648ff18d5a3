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
  std::string name;
  bool hidden = false;
  for (size_t begin = 0; begin < raw.size();) {
    const size_t end = std::min(raw.find('/', begin), raw.size());
    const std::string_view part = raw.substr(begin, end - begin);
    if (part == "..") {
      return fail(Code::kParse, "entry \"", raw, "\" leaves the archive by `..`");
    }
    begin = end + 1;
    // `a/.//b` is the file `a/b`, and `.//b` must not become `/b`.
    if (part.empty() || part == ".") continue;
    hidden = hidden || part.starts_with(".");
    if (!name.empty()) name += '/';
    name += part;
  }
  if (hidden || name.empty()) return std::optional<std::string>();
  return std::optional<std::string>(std::move(name));
}

bool is_large_tensor(std::string_view name, int64_t bytes) {
  constexpr int64_t kLeastMapped = int64_t{64} << 10;  // a smaller one wastes most of its pages
  return bytes >= kLeastMapped && name.ends_with(".dat");
}

Status check_unique(std::span<const Entry> entries, Code code) {
  std::unordered_set<std::string_view> names;
  for (const Entry& entry : entries) {
    if (!names.insert(entry.name).second) {
      return fail(code, "entry \"", entry.name, "\" occurs twice");
    }
  }
  return {};
}

}  // namespace rill::nnef
