#include "nnef_loader/archive/utf8_locale.h"

#include <initializer_list>

#ifdef __APPLE__
#include <xlocale.h>
#endif

namespace rill::nnef {
namespace {

constexpr locale_t kNone = nullptr;

locale_t make_utf8() {
  for (const char* name : {"C.UTF-8", "en_US.UTF-8"}) {
    const locale_t made = newlocale(LC_CTYPE_MASK, name, kNone);
    if (made != kNone) return made;
  }
  return kNone;
}

}  // namespace

Utf8Locale::Utf8Locale() : utf8_(make_utf8()), before_(utf8_ == kNone ? kNone : uselocale(utf8_)) {}

Utf8Locale::~Utf8Locale() {
  if (utf8_ == kNone) return;
  uselocale(before_);
  freelocale(utf8_);
}

}  // namespace rill::nnef
