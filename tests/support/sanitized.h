#pragma once

// RILL_SANITIZED is defined if a sanitizer replaces the allocator and wraps system calls.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RILL_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RILL_SANITIZED 1
#endif
