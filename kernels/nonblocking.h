#pragma once

// A copy of core/base/nonblocking.h for kernels, which include no other folder of rill.
#if defined(__clang__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::nonblocking)
#define RILL_NONBLOCKING [[clang::nonblocking]]
#endif
#endif
#ifndef RILL_NONBLOCKING
#define RILL_NONBLOCKING
#endif
