#include "core/exec/session.h"

#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/aligned.h"
#include "core/run/denormals.h"

namespace rill {
namespace {

constexpr int64_t kAlign = kSessionAlignment;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

std::byte* allocate(int64_t bytes) {
  return static_cast<std::byte*>(
      allocate_aligned(static_cast<size_t>(kAlign), static_cast<uint64_t>(aligned(bytes))));
}

}  // namespace

Result<std::unique_ptr<Session>> Session::make(std::shared_ptr<const Plan> plan) {
  std::unique_ptr<Session> session(new (std::nothrow) Session(std::move(plan)));
  if (!session) return fail(Code::kNoMem, "no memory for a session");
  const int64_t bytes = SessionParts::bytes_for(*session->owner_);
  session->memory_ = allocate(bytes);
  if (session->memory_ == nullptr) {
    return fail(Code::kNoMem, "no memory for a session of ", bytes, " bytes");
  }
  session->begin(*session->owner_, session->memory_);
  return session;
}

Session::~Session() {
  free_aligned(memory_);
  free_aligned(scratch_);
}

Status Session::use_threads(std::shared_ptr<const Pool> pool) {
  int64_t bytes = 0;
  if (pool) bytes = (pool->threads - int64_t{1}) * plan().part_scratch_bytes;
  std::byte* scratch = nullptr;
  if (bytes > 0) {
    scratch = allocate(bytes);
    if (scratch == nullptr) {
      return fail(Code::kNoMem, "no memory for ", bytes, " bytes of scratch for ",
                  counted(pool->threads, "thread"));
    }
    std::memset(scratch, 0, static_cast<size_t>(bytes));
  }
  free_aligned(scratch_);
  scratch_ = scratch;
  scratch_bytes_ = bytes;
  pool_ = std::move(pool);
  set_pool(pool_.get(), scratch_);
  return {};
}

void Session::step_timed(const StepTimer& timer) {
  const FlushDenormals flush;
  const Frame now = frame();
  for (const Step& step : plan().steps) {
    const auto start = std::chrono::steady_clock::now();
    run_step(step, now);
    const auto end = std::chrono::steady_clock::now();
    timer(step.node, std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count());
  }
  end_step();
}

int64_t Session::memory_bytes() const {
  return static_cast<int64_t>(sizeof(Session)) + aligned(parts().bytes) + scratch_bytes_;
}

}  // namespace rill
