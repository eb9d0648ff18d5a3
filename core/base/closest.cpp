#include "core/base/closest.h"

#include <algorithm>
#include <vector>

#include "core/base/text.h"

namespace rill {
namespace {

// Longer names get no suggestion: this bounds the work on names from files.
constexpr size_t kMostLetters = 80;

/// Return the Damerau-Levenshtein distance, restricted to one edit per letter (optimal string
/// alignment).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view closest(std::string_view name, std::span<const std::string_view> names) {
  if (name.size() > kMostLetters) return {};
  std::string_view best;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view each : names) {
    if (each.size() > kMostLetters) continue;
    const size_t edits = distance(name, each);
    if (edits >= least) continue;
    least = edits;
    best = each;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view found = closest(name, names);
  return found.empty() ? std::string() : str_cat("Did you mean \"", found, "\"?");
}

}  // namespace rill
