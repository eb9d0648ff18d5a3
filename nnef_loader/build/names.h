#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace rill::nnef {

/// Generates unique names.
class NameTable {
 public:
  /// Reserve a name for an exact claim.
  void reserve(std::string_view name) { reserved_.emplace(name); }
  /// Claim `stem`, or `stem_1`, `stem_2`, ... if it is taken, or reserved and this claim is not
  /// exact.
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

/// Make an identifier from any text: characters other than ASCII letters, digits and `_` become
/// `_`. The result is never empty, a number or a literal.
std::string mangled(std::string_view name);

}  // namespace rill::nnef
