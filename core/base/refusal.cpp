#include "core/base/refusal.h"

#include <cstdarg>
#include <cstdio>

namespace rill {

RILL_NOT_IN_STEPS_BEGIN

Refusal refusal(Code code, const char* hint, const char* format, ...) {
  Refusal out;
  out.code = code;
  out.hint = hint;
  va_list parts;
  va_start(parts, format);
  std::vsnprintf(out.message, sizeof(out.message), format, parts);
  va_end(parts);
  return out;
}

RILL_NOT_IN_STEPS_END

}  // namespace rill
