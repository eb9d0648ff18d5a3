#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace rill::nnef {

/// Hands out names, each once.
class NameTable {
 public:
  /// Keep a name for the one that will claim it exactly.
  void reserve(std::string_view name) { reserved_.emplace(name); }
  /// Take `stem`, or `stem_1`, `stem_2`... if it is taken, or reserved and not claimed exactly.
  std::string claim(std::string_view stem, bool exact = false);

 private:
  bool is_free(const std::string& name, bool exact) const {
    return !used_.contains(name) && (exact || !reserved_.contains(name));
  }

  std::unordered_set<std::string> used_;
  std::unordered_set<std::string> reserved_;
  std::unordered_map<std::string, int> next_;
};

/// Cut a stem that is too long, between characters of UTF-8.
std::string_view shortened(std::string_view stem);

/// Make an identifier of any text: other characters than ASCII letters, digits and `_` become `_`;
/// nothing that readers take for a number, a literal or nothing at all.
std::string mangled(std::string_view name);

}  // namespace rill::nnef
