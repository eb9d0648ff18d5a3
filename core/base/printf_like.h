#pragma once

// Have the compiler check the arguments of a function against its format, as it does for printf.
// Where C has a printf of its own, as on Windows, C++ has the standard one all the same.
#if defined(__MINGW32__) && !defined(__clang__)
#define RILL_PRINTF_LIKE(format_at, first_at) [[gnu::format(gnu_printf, format_at, first_at)]]
#else
#define RILL_PRINTF_LIKE(format_at, first_at) [[gnu::format(printf, format_at, first_at)]]
#endif
