#include "cli/readings.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace rill::cli {
namespace {

constexpr const char* kFile = "readings.out";
constexpr const char* kHeader =
    "#ReadingsV1\n"
    "#       time cores        vsz        rsz     rszmax     utime     stime     minf     majf"
    "      alloc       free progress event\n";

using Clock = std::chrono::steady_clock;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Virtual and resident bytes.
std::pair<int64_t, int64_t> memory_now() {
  int64_t pages = 0;
  int64_t resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) pages = resident = 0;
    std::fclose(file);
  }
  const int64_t page = sysconf(_SC_PAGESIZE);
  return {pages * page, resident * page};
}

}  // namespace

struct Readings::Impl {
  std::FILE* file = nullptr;
  Clock::time_point begin = Clock::now();
  double last_time = 0;
  double last_cpu = 0;
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread thread;

  void line(std::string_view event) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double now = std::chrono::duration<double>(Clock::now() - begin).count();
    const double user = seconds_of(usage.ru_utime);
    const double system = seconds_of(usage.ru_stime);
    const double cores = now > last_time ? (user + system - last_cpu) / (now - last_time) : 0;
    last_time = now;
    last_cpu = user + system;
    const auto [virtual_bytes, resident] = memory_now();
    const auto heap = mallinfo2();
    fmt::print(
        file, "{:12.6f} {:5.1f} {:10} {:10} {:10} {:9.6f} {:9.6f} {:8} {:8} {:10} {:10} {:8} {}\n",
        now, cores, virtual_bytes, resident, int64_t{usage.ru_maxrss} * 1024, user, system,
        usage.ru_minflt, usage.ru_majflt, heap.uordblks + heap.hblkhd, heap.fordblks, 0, event);
    std::fflush(file);
  }
};

Readings::Readings(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Readings>> Readings::start(int64_t heartbeat_ms) {
  auto impl = std::make_unique<Impl>();
  impl->file = std::fopen(kFile, "w");
  if (impl->file == nullptr) return fail(Code::kIo, kFile, " cannot be written");
  fmt::print(impl->file, "{}", kHeader);
  impl->line("start");
  Impl* shared = impl.get();
  impl->thread = std::thread([shared, heartbeat_ms] {
    std::unique_lock lock(shared->mutex);
    const auto period = std::chrono::milliseconds(std::max<int64_t>(1, heartbeat_ms));
    while (!shared->wake.wait_for(lock, period, [&] { return shared->stop; })) shared->line("");
  });
  return std::unique_ptr<Readings>(new Readings(std::move(impl)));
}

void Readings::event(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->line(name);
}

Readings::~Readings() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
    impl_->line("end");
  }
  impl_->wake.notify_all();
  impl_->thread.join();
  std::fclose(impl_->file);
}

}  // namespace rill::cli
