#include <atomic>
#include <string>

#include "api/src/errors.h"
#include "api/src/log.h"
#include "core/base/printable.h"
#include "core/tensor/dtype.h"
#include "kernels/cpu.h"

namespace rill::api {
namespace {

std::atomic<rill_log_fn> log_function{nullptr};
std::atomic<void*> log_user{nullptr};
std::atomic<int> log_limit{0};

}  // namespace

void log(rill_log_level level, std::string_view message) {
  const rill_log_fn function = log_function.load(std::memory_order_acquire);
  if (!function || level > log_limit.load(std::memory_order_relaxed)) return;
  function(log_user.load(std::memory_order_relaxed), level, printable(message).c_str());
}

static_assert(static_cast<int>(DType::kBool) == RILL_BOOL);
static_assert(static_cast<int>(DType::kU64) == RILL_U64);
static_assert(static_cast<int>(DType::kI64) == RILL_I64);
static_assert(static_cast<int>(DType::kF16) == RILL_F16);
static_assert(static_cast<int>(DType::kF32) == RILL_F32);
static_assert(static_cast<int>(DType::kF64) == RILL_F64);
static_assert(static_cast<int>(DType::kDim) == RILL_DIM);
static_assert(static_cast<int>(DType::kQU8) == RILL_QU8);
static_assert(static_cast<int>(DType::kBlob) == RILL_BLOB);

bool known(rill_dtype dtype) { return dtype >= RILL_BOOL && dtype <= RILL_BLOB; }

}  // namespace rill::api

extern "C" {

uint32_t rill_abi(void) { return RILL_ABI; }

const char* rill_version(void) { return RILL_VERSION; }

size_t rill_dtype_size(rill_dtype dtype) RILL_REAL_TIME {
  if (!rill::api::known(dtype) || dtype == RILL_STRING || dtype == RILL_BLOB) return 0;
  if (dtype == RILL_DIM) return sizeof(int64_t);
  return static_cast<size_t>(rill::dtype_size(static_cast<rill::DType>(dtype)));
}

const char* rill_dtype_name(rill_dtype dtype) RILL_REAL_TIME {
  if (!rill::api::known(dtype)) return "unknown";
  return rill::dtype_lower_name(static_cast<rill::DType>(dtype)).data();
}

void rill_set_log(rill_log_fn log, void* user, rill_log_level level) {
  rill::api::log_function.store(nullptr, std::memory_order_release);
  rill::api::log_user.store(user, std::memory_order_relaxed);
  rill::api::log_limit.store(level, std::memory_order_relaxed);
  rill::api::log_function.store(log, std::memory_order_release);
}

rill_status rill_set_cpu_limit(const char* tier) {
  using rill::kernels::Tier;
  if (!tier) {
    rill::kernels::clear_tier_limit();
    return RILL_OK;
  }
  Tier limit{};
  if (!rill::kernels::tier_from_name(tier, &limit)) {
    return rill::api::refuse(
        RILL_E_ARG, "no tier \"%s\": scalar, sse42, avx2, avx512 and neon are known", tier);
  }
  rill::kernels::set_tier_limit(limit);
  return RILL_OK;
}

const char* rill_cpu(void) { return rill::kernels::tier_name(rill::kernels::active_tier()); }

}  // extern "C"
