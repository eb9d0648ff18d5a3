// Threads that run the steps of sessions.

#include <memory>

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/handles.h"
#include "core/exec/workers.h"

using rill::api::alive;
using rill::api::guarded;
using rill::api::refuse;
using rill::api::report;

namespace {

rill_status hand_out(std::shared_ptr<const rill::Pool> pool, rill_threads** threads) {
  *threads = new rill_threads{rill::api::kThreadsMagic, std::move(pool)};
  return RILL_OK;
}

rill_status check_pool(const rill_pool* pool) {
  const rill_status known = rill::api::check_size(pool, "rill_pool");
  if (known != RILL_OK) return known;
  if (!pool->run) return refuse(RILL_E_ARG, "rill_threads_wrap: the pool has no function to run");
  if (pool->threads > 0 && pool->threads <= rill::kMostThreads) return RILL_OK;
  return refuse(RILL_E_ARG, "rill_threads_wrap: a pool of %u threads: expected 1 to %u",
                static_cast<unsigned>(pool->threads), static_cast<unsigned>(rill::kMostThreads));
}

}  // namespace

extern "C" {

rill_status rill_threads_new(uint32_t count, rill_threads** threads) {
  if (!threads) return refuse(RILL_E_ARG, "rill_threads_new: null pointer for the threads");
  *threads = nullptr;
  return guarded("rill_threads_new", [&] {
    auto pool = rill::make_pool(count);
    if (!pool.ok()) return report(pool.status());
    return hand_out(std::move(pool).value(), threads);
  });
}

rill_status rill_threads_wrap(const rill_pool* pool, rill_threads** threads) {
  if (!threads) return refuse(RILL_E_ARG, "rill_threads_wrap: null pointer for the threads");
  *threads = nullptr;
  const rill_status fits = check_pool(pool);
  if (fits != RILL_OK) return fits;
  return guarded("rill_threads_wrap", [&] {
    const rill::Pool own{pool->threads, pool->context, pool->run};
    return hand_out(std::make_shared<const rill::Pool>(own), threads);
  });
}

void rill_threads_free(rill_threads* threads) {
  if (!alive(threads)) return;
  threads->magic = rill::api::kDeadMagic;
  delete threads;
}

rill_status rill_session_set_threads(rill_session* session, const rill_threads* threads) {
  if (!alive(session)) {
    return refuse(RILL_E_ARG, "rill_session_set_threads: %s", rill::api::kNotASession);
  }
  if (threads && !alive(threads)) {
    return refuse(RILL_E_ARG,
                  "rill_session_set_threads: not threads: freed, or another kind of object");
  }
  if (!session->own_session) {
    return refuse(RILL_E_UNSUPPORTED,
                  "rill_session_set_threads: a session in the caller's memory has no threads");
  }
  return guarded("rill_session_set_threads", [&] {
    return report(session->own_session->use_threads(threads ? threads->pool : nullptr));
  });
}

}  // extern "C"
