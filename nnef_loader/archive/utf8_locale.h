#pragma once

#include <locale.h>

namespace rill::nnef {

/// Sets a UTF-8 locale for the calling thread during its lifetime: libarchive converts names to the
/// locale, and the C locale loses all names outside ASCII.
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
