#include "nnef_loader/build/names.h"

#include "core/base/text.h"
#include "nnef_loader/build/limits.h"

namespace rill::nnef {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string_view shortened(std::string_view stem) {
  if (stem.size() <= kMaxStemBytes) return stem;
  size_t end = kMaxStemBytes;
  while (end > 0 && (static_cast<unsigned char>(stem[end]) & 0xC0U) == 0x80U) --end;
  return stem.substr(0, end);
}

std::string NameTable::claim(std::string_view stem, bool exact) {
  std::string base(exact ? stem : shortened(stem));
  if (is_free(base, exact)) {
    used_.insert(base);
    return base;
  }
  int& next = next_[base];
  std::string candidate;
  do {
    candidate = str_cat(base, "_", ++next);
  } while (!is_free(candidate, false));
  used_.insert(candidate);
  return candidate;
}

std::string mangled(std::string_view name) {
  std::string out;
  out.reserve(name.size() + 1);
  for (const char c : name) out += is_word(c) ? c : '_';
  const bool digit = !out.empty() && out[0] >= '0' && out[0] <= '9';
  const bool literal =
      out.starts_with("inf") || out.starts_with("true") || out.starts_with("false");
  if (out.empty() || digit || literal) out.insert(out.begin(), '_');
  return out;
}

}  // namespace rill::nnef
