#include "tests/support/small_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned char kUntouched = 0xA5;

struct Started {
  const std::function<void()>* call;
  const unsigned char* top = nullptr;
};

void* start(void* argument) {
  auto* started = static_cast<Started*>(argument);
  started->top = static_cast<const unsigned char*>(__builtin_frame_address(0));
  (*started->call)();
  return nullptr;
}

void need(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "a thread with a small stack: %s\n", what);
  std::abort();
}

}  // namespace

rill::test::StackTaken rill::test::on_stack_of(size_t bytes, const std::function<void()>& call) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const block = mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  need(block != MAP_FAILED, "no memory");
  need(mprotect(block, page, PROT_NONE) == 0, "no guard");
  auto* const bottom = static_cast<unsigned char*>(block) + page;
  std::memset(bottom, kUntouched, bytes);
  pthread_attr_t attributes;
  need(pthread_attr_init(&attributes) == 0, "no attributes");
  need(pthread_attr_setstack(&attributes, bottom, bytes) == 0, "too small a stack");
  Started started{&call};
  pthread_t thread;
  need(pthread_create(&thread, &attributes, start, &started) == 0, "no thread");
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  const unsigned char* lowest = bottom;
  while (lowest < started.top && *lowest == kUntouched) ++lowest;
  StackTaken taken;
  taken.of_the_thread = static_cast<size_t>(bottom + bytes - started.top);
  taken.of_the_call = static_cast<size_t>(started.top - lowest);
  munmap(block, page + bytes);
  return taken;
}
