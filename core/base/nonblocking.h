#pragma once

/// `RILL_NONBLOCKING` marks functions that a step may call: they do not allocate, lock, wait, throw
/// or call the system. Compilers with function effect analysis (Clang 20) verify this;
/// `scripts/check_nonblocking.sh` runs them. The mark follows `noexcept`, also in the types of
/// pointers to such functions. Overrides and definitions of a marked function are marked too.
/// `RILL_NOT_IN_STEPS(...)`, or its `_BEGIN` and `_END`, exclude code from the analysis, because
/// steps never run it. Such code reports failures, which steps of a plan do not have, or handles
/// strings, dims and graphs, which do not exist in a plan. The macros also exclude the code that
/// distributes the parts of a step over threads and waits for them.
#ifndef RILL_NONBLOCKING
#if defined(__clang__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::nonblocking)
#define RILL_NONBLOCKING [[clang::nonblocking]]
#endif
#endif
#endif
#ifndef RILL_NONBLOCKING
#define RILL_NONBLOCKING
#endif

#if defined(__clang__) && __clang_major__ >= 20
#define RILL_NOT_IN_STEPS_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wfunction-effects\"")
#define RILL_NOT_IN_STEPS_END _Pragma("clang diagnostic pop")
#else
#define RILL_NOT_IN_STEPS_BEGIN
#define RILL_NOT_IN_STEPS_END
#endif
#define RILL_NOT_IN_STEPS(...) RILL_NOT_IN_STEPS_BEGIN __VA_ARGS__ RILL_NOT_IN_STEPS_END
