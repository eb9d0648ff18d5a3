#pragma once

#include <locale.h>

namespace rill::nnef {

/// Let the calling thread take names for UTF-8 while alive: libarchive converts names to the
/// locale, and in the C locale of a library no name outside ASCII survives.
class Utf8Locale {
 public:
  Utf8Locale();
  ~Utf8Locale();
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t before_ = nullptr;  ///< null where there is no such locale
};

}  // namespace rill::nnef
