#include "tests/support/lock_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "tests/support/sanitized.h"

#if defined(RILL_SANITIZED) || !defined(__GLIBC__)

int64_t rill::test::lock_calls() { return -1; }

#else

namespace {

// Static TLS of the program itself, so that the first access takes no lock.
thread_local int64_t calls = 0;

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

int64_t rill::test::lock_calls() { return calls; }

// Replace a function of the C library by one that counts, then calls the original.
#define RILL_COUNTED(name, parameters, arguments)            \
  extern "C" int name parameters {                           \
    ++calls;                                                 \
    static const auto real = next<int(*) parameters>(#name); \
    return real arguments;                                   \
  }

RILL_COUNTED(pthread_mutex_lock, (pthread_mutex_t * lock) noexcept, (lock))
RILL_COUNTED(pthread_mutex_trylock, (pthread_mutex_t * lock) noexcept, (lock))
RILL_COUNTED(pthread_mutex_timedlock, (pthread_mutex_t * lock, const timespec* until) noexcept,
             (lock, until))
RILL_COUNTED(pthread_rwlock_rdlock, (pthread_rwlock_t * lock) noexcept, (lock))
RILL_COUNTED(pthread_rwlock_wrlock, (pthread_rwlock_t * lock) noexcept, (lock))
RILL_COUNTED(pthread_spin_lock, (pthread_spinlock_t * lock) noexcept, (lock))
RILL_COUNTED(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* lock),
             (condition, lock))
RILL_COUNTED(pthread_cond_signal, (pthread_cond_t * condition) noexcept, (condition))
RILL_COUNTED(pthread_barrier_wait, (pthread_barrier_t * barrier) noexcept, (barrier))
RILL_COUNTED(sem_wait, (sem_t * semaphore), (semaphore))
RILL_COUNTED(sem_post, (sem_t * semaphore) noexcept, (semaphore))

#undef RILL_COUNTED

#endif
