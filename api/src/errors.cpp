#include "api/src/errors.h"

#include <pthread.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "core/base/printable.h"

namespace rill::api {
namespace {

// Fixed buffers, so that a failure in a real-time thread allocates nothing.
struct LastError {
  rill_status code = RILL_OK;
  int32_t line = 0;
  int32_t column = 0;
  char message[4096] = "";
  char node[256] = "";
  char op[64] = "";
  char file[1024] = "";
  char hint[512] = "";
  char text[6144] = "";
};

/// The last failure of each thread, in static memory; a thread finds its own by a key. If dlopen
/// opened the library, the system would allocate thread-local variables at their first use, even in
/// a real-time thread. Beyond 16 threads with a failure at the same time, further threads use the
/// heap.
class LastErrors {
 public:
  LastErrors() noexcept { has_key_ = pthread_key_create(&key_, give_back) == 0; }
  // A thread that ends later must not call into the closed library.
  ~LastErrors() {
    if (has_key_) pthread_key_delete(key_);
    has_key_ = false;
  }

  /// Return the failure of this thread; null if there was none.
  const LastError* find() const noexcept {
    return has_key_ ? static_cast<const LastError*>(pthread_getspecific(key_)) : nullptr;
  }
  /// Return memory for the failure of this thread; null if memory runs out.
  LastError* take() noexcept {
    if (!has_key_) return nullptr;
    if (void* const own = pthread_getspecific(key_)) return static_cast<LastError*>(own);
    LastError* error = nullptr;
    for (size_t i = 0; i < kPlaces && !error; ++i) {
      if (!taken_[i].exchange(true, std::memory_order_acquire)) error = &places_[i];
    }
    if (!error) error = new (std::nothrow) LastError;
    if (!error || pthread_setspecific(key_, error) == 0) return error;
    give_back(error);
    return nullptr;
  }

 private:
  static constexpr size_t kPlaces = 16;
  static void give_back(void* error) noexcept;

  bool has_key_ = false;
  pthread_key_t key_{};
  std::atomic<bool> taken_[kPlaces] = {};
  LastError places_[kPlaces];
};

LastErrors errors;

void LastErrors::give_back(void* error) noexcept {
  auto* const own = static_cast<LastError*>(error);
  for (size_t i = 0; i < kPlaces; ++i) {
    if (own != &errors.places_[i]) continue;
    *own = LastError();
    errors.taken_[i].store(false, std::memory_order_release);
    return;
  }
  delete own;
}

/// Copy an escaped text, truncated between UTF-8 characters. Messages keep their line breaks,
/// because names in them were escaped before.
[[gnu::noinline]] void put(std::span<char> to, std::string_view from,
                           Lines lines = Lines::kEscaped) {
  to[write_printable(to.data(), to.size() - 1, from, lines)] = '\0';
}

std::atomic<std::string (*)(std::string_view)> translation = nullptr;

Error translated(Error error) {
  if (const auto translate = translation.load()) {
    error.message = translate(error.message);
    error.hint = translate(error.hint);
  }
  return error;
}

void keep(const Error& error, LastError* to) {
  LastError& last = *to;
  last.code = static_cast<rill_status>(error.code);
  last.line = error.line;
  last.column = error.column;
  put(last.message, error.message, Lines::kKept);
  put(last.node, error.node);
  put(last.op, error.op);
  put(last.file, error.file);
  put(last.hint, error.hint);
}

static_assert(static_cast<int>(Code::kOk) == RILL_OK && static_cast<int>(Code::kArg) == RILL_E_ARG);
static_assert(static_cast<int>(Code::kIo) == RILL_E_IO);
static_assert(static_cast<int>(Code::kParse) == RILL_E_PARSE);
static_assert(static_cast<int>(Code::kUnsupported) == RILL_E_UNSUPPORTED);
static_assert(static_cast<int>(Code::kShape) == RILL_E_SHAPE);
static_assert(static_cast<int>(Code::kDType) == RILL_E_DTYPE);
static_assert(static_cast<int>(Code::kSymbol) == RILL_E_SYMBOL);
static_assert(static_cast<int>(Code::kPulse) == RILL_E_PULSE);
static_assert(static_cast<int>(Code::kState) == RILL_E_STATE);
static_assert(static_cast<int>(Code::kNoMem) == RILL_E_NOMEM);
static_assert(static_cast<int>(Code::kAbi) == RILL_E_ABI);
static_assert(static_cast<int>(Code::kInternal) == RILL_E_INTERNAL);

}  // namespace

void translate_hints(std::string (*translate)(std::string_view hint)) { translation = translate; }

RILL_NOT_IN_STEPS_BEGIN

rill_status report(const Status& status) RILL_NONBLOCKING {
  if (status.ok()) return RILL_OK;
  if (LastError* const last = errors.take()) {
    const Error error = translated(status.error());
    keep(error, last);
    put(last->text, error.to_string(), Lines::kKept);
  }
  return static_cast<rill_status>(status.code());
}

/// Return this thread's failure, cleared except for the code; null if no memory is left.
static LastError* cleared(rill_status code) {
  LastError* const last = errors.take();
  if (!last) return nullptr;
  last->code = code;
  last->line = 0;
  last->column = 0;
  last->node[0] = last->op[0] = last->file[0] = last->hint[0] = '\0';
  return last;
}

rill_status report(const Refusal& refusal) RILL_NONBLOCKING {
  const auto code = static_cast<rill_status>(refusal.code);
  if (refusal.ok()) return code;
  LastError* const last = cleared(code);
  if (!last) return code;
  put(last->message, refusal.message);
  put(last->hint, refusal.hint);
  std::snprintf(last->text, sizeof(last->text), "%s%s%s", refusal.message,
                *refusal.hint == '\0' ? "" : ". ", refusal.hint);
  return code;
}

rill_status refuse(rill_status code, const char* format, ...) {
  LastError* const own = cleared(code);
  if (!own) return code;
  LastError& last = *own;
  va_list parts;
  va_start(parts, format);
  std::vsnprintf(last.text, sizeof(last.text), format, parts);
  va_end(parts);
  put(last.message, last.text);
  put(last.text, last.message);
  return code;
}

RILL_NOT_IN_STEPS_END

}  // namespace rill::api

extern "C" {

const char* rill_last_error(void) {
  const auto* const last = rill::api::errors.find();
  return last ? last->text : "";
}

rill_status rill_last_error_info(rill_error_info* info) {
  // A wrong call here must not overwrite the requested failure.
  if (!info) return RILL_E_ARG;
  if (info->size < sizeof(rill_error_info)) return RILL_E_ABI;
  // Never written, but not const, so that its zeros take no space in the library.
  static rill::api::LastError none;
  const auto* const found = rill::api::errors.find();
  const auto& last = found ? *found : none;
  info->code = last.code;
  info->message = last.message;
  info->node = last.node;
  info->op = last.op;
  info->file = last.file;
  info->line = last.line;
  info->column = last.column;
  info->hint = last.hint;
  return RILL_OK;
}

const char* rill_status_name(rill_status status) {
  if (status == RILL_E_CANCELLED) return "cancelled";
  if (status == RILL_E_NOT_REACHED) return "not reached";
  if (status < RILL_OK || status > RILL_E_INTERNAL) return "unknown";
  return rill::code_name(static_cast<rill::Code>(status)).data();
}

}  // extern "C"
