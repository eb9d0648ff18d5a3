#pragma once

/// `RILL_NONBLOCKING` marks what a step may call: it does not allocate, lock, wait, throw or call
/// the system. Compilers with function effect analysis (Clang 20) prove it, and
/// `scripts/check_nonblocking.sh` has them do so. It stands behind `noexcept`, also in the types of
/// pointers to such functions; what overrides or defines a marked function is marked too.
///
/// What stands in `RILL_NOT_IN_STEPS(...)`, or between `_BEGIN` and `_END`, is not looked at. It is
/// what no step does: telling of a failure, since steps of a plan do not fail, and operators on
/// strings, dims and graphs, which are gone once a plan is prepared. And what a step does only
/// where it was given threads: to hand them its parts and wait for the last one.
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
