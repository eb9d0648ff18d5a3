#include "cli/readings.h"


#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "cli/say_impl.h"
#include "cli/system/process.h"

namespace rill::cli {
namespace {

constexpr const char* kFile = "readings.out";
constexpr const char* kHeader =
    "#ReadingsV1\n"
    "#       time cores        vsz        rsz     rszmax     utime     stime     minf     majf"
    "      alloc       free progress event\n";

using Clock = std::chrono::steady_clock;

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
    const Usage usage = usage_now();
    const double now = std::chrono::duration<double>(Clock::now() - begin).count();
    const double cpu = usage.user_s + usage.system_s;
    const double cores = now > last_time ? (cpu - last_cpu) / (now - last_time) : 0;
    last_time = now;
    last_cpu = cpu;
    say_to(
        file, "{:12.6f} {:5.1f} {:10} {:10} {:10} {:9.6f} {:9.6f} {:8} {:8} {:10} {:10} {:8} {}\n",
        now, cores, usage.virtual_bytes, usage.resident_bytes, usage.most_resident_bytes,
        usage.user_s, usage.system_s, usage.minor_faults, usage.major_faults,
        usage.heap_used_bytes, usage.heap_free_bytes, 0, event);
    std::fflush(file);
  }
};

Readings::Readings(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Readings>> Readings::start(int64_t heartbeat_ms) {
  auto impl = std::make_unique<Impl>();
  impl->file = std::fopen(kFile, "wb");
  if (impl->file == nullptr) return fail(Code::kIo, kFile, " cannot be written");
  put(impl->file, {kHeader});
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
