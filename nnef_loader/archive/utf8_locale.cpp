#include "nnef_loader/archive/utf8_locale.h"

#include <initializer_list>
#include <mutex>

#ifdef __APPLE__
#include <xlocale.h>
#endif

namespace rill::nnef {
namespace {

constexpr locale_t kNone = nullptr;

/// The process's own, made when it is first asked for. It is kept: to make one reads files.
locale_t utf8() {
  static std::mutex making;
  static locale_t made = kNone;
  const std::scoped_lock lock(making);
  for (const char* name : {"C.UTF-8", "en_US.UTF-8"}) {
    if (made == kNone) made = newlocale(LC_CTYPE_MASK, name, kNone);
  }
  return made;
}

}  // namespace

Utf8Locale::Utf8Locale() {
  const locale_t own = utf8();
  if (own != kNone) before_ = uselocale(own);
}

Utf8Locale::~Utf8Locale() {
  if (before_ != kNone) uselocale(before_);
}

}  // namespace rill::nnef
