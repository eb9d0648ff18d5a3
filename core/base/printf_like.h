#pragma once

// Make the compiler check a function's arguments against its format, as for printf. gnu_printf:
// where C has a non-standard printf, as on Windows, C++ still has the standard one.
#if defined(__MINGW32__) && !defined(__clang__)
#define RILL_PRINTF_LIKE(format_at, first_at) [[gnu::format(gnu_printf, format_at, first_at)]]
#else
#define RILL_PRINTF_LIKE(format_at, first_at) [[gnu::format(printf, format_at, first_at)]]
#endif
