#include "core/exec/workers.h"

#include <pthread.h>
#if !defined(_WIN32)
#include <signal.h>
#endif

#include <atomic>
#include <chrono>
#include <new>
#include <vector>

namespace rill {
namespace {

/// How long a thread polls for work, or for the end of work, before it sleeps: longer than the gap
/// between two parallel steps, and far shorter than the gap between two pulses.
constexpr std::chrono::microseconds kSpin(50);

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__ARM_ARCH_7A__)
  asm volatile("yield");
#endif
}

/// Poll `ready()` for a while; return whether it became true.
template <class Ready>
bool spin_until(const Ready& ready) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  return ready();
}

/// The number of parts of a task and the next part to take, in one word.
struct Ticket {
  uint32_t parts;
  uint32_t next;

  uint32_t word() const { return parts << 16 | next; }
  static Ticket of(uint32_t word) { return {word >> 16, word & 0xFFFF}; }
};

/// Blocks signals in threads that are started while the object lives, so that the application's
/// threads handle them.
class WithoutSignals {
 public:
#if defined(_WIN32)
  WithoutSignals() noexcept {}
#else
  WithoutSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
#endif
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

#if !defined(_WIN32)
 private:
  sigset_t before_;
#endif
};

class Workers {
 public:
  ~Workers() {
    ending_.store(true, std::memory_order_relaxed);
    call();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  }

  Status start(uint32_t count) {
    threads_.reserve(count);
    int failed = 0;
    const WithoutSignals without;
    while (failed == 0 && threads_.size() < count) {
      pthread_t thread;
      failed = pthread_create(&thread, nullptr, work, this);
      if (failed == 0) threads_.push_back(thread);
    }
    if (failed == 0) return {};
    return fail(Code::kNoMem, "the system has no thread left: ", threads_.size(), " of ", count,
                " were started")
        .hint("Use fewer threads");
  }

  void run(Task task, void* argument, uint32_t parts) {
    if (busy_.test_and_set(std::memory_order_acquire)) {
      for (uint32_t part = 0; part < parts; ++part) task(argument, part);
      return;
    }
    task_ = task;
    argument_ = argument;
    done_.store(0, std::memory_order_relaxed);
    ticket_.store(Ticket{parts, 1}.word(), std::memory_order_release);
    call();
    task(argument, 0);
    finish_one();
    while (take_part()) {
    }
    wait_for(parts);
    busy_.clear(std::memory_order_release);
  }

 private:
  static void* work(void* own) {
    static_cast<Workers*>(own)->look_for_work();
    return nullptr;
  }

  void look_for_work() {
    uint32_t seen = 0;  // the value of `generation_`
    for (;;) {
      const auto called = [&] { return generation_.load(std::memory_order_acquire) != seen; };
      while (!spin_until(called)) generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);
      if (ending_.load(std::memory_order_relaxed)) return;
      while (take_part()) {
      }
    }
  }

  /// Run the next part that no thread has taken; return false if there is none.
  bool take_part() {
    uint32_t word = ticket_.load(std::memory_order_acquire);
    do {
      const Ticket ticket = Ticket::of(word);
      if (ticket.next >= ticket.parts) return false;
    } while (!ticket_.compare_exchange_weak(word, word + 1, std::memory_order_acquire));
    // Only unfinished work has such a part, so this part belongs to the current work, which stays
    // unchanged until the part is done.
    task_(argument_, Ticket::of(word).next);
    finish_one();
    return true;
  }

  // Sequentially consistent: all threads see the increment before the check for sleeping threads.
  void call() {
    generation_.fetch_add(1);
    generation_.notify_all();
  }
  void finish_one() {
    done_.fetch_add(1);
    done_.notify_one();
  }

  void wait_for(uint32_t parts) {
    const auto over = [&] { return done_.load(std::memory_order_acquire) == parts; };
    if (spin_until(over)) return;
    for (uint32_t done = done_.load(std::memory_order_acquire); done != parts;
         done = done_.load(std::memory_order_acquire)) {
      done_.wait(done, std::memory_order_acquire);
    }
  }

  std::atomic_flag busy_;
  std::atomic<bool> ending_{false};
  Task task_ = nullptr;
  void* argument_ = nullptr;
  // Each counter has its own cache line, so that threads that poll one do not slow down threads
  // that write another.
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<uint32_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
  std::vector<pthread_t> threads_;
};

void run_workers(void* context, Task task, void* argument, uint32_t parts) {
  static_cast<Workers*>(context)->run(task, argument, parts);
}

struct OwnPool {
  Pool pool;
  Workers workers;
};

}  // namespace

Result<std::shared_ptr<const Pool>> make_pool(uint32_t threads) {
  if (threads == 0 || threads > kMostThreads) {
    return fail(Code::kArg, counted(threads, "thread"), ": expected 1 to ", kMostThreads);
  }
  const auto own = std::make_shared<OwnPool>();
  RILL_TRY(own->workers.start(threads - 1));
  own->pool = {threads, &own->workers, run_workers};
  return std::shared_ptr<const Pool>(own, &own->pool);
}

}  // namespace rill
