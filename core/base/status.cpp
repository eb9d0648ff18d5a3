#include "core/base/status.h"

#include <cstdlib>
#include <new>
#include <stdexcept>

#include "core/base/printable.h"
#include "core/base/refusal.h"

namespace rill {

RILL_NOT_IN_STEPS_BEGIN
Status::Status(Error error) : error_(new Error(std::move(error))) {}

Status::Status(const Status& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}

void Status::drop(Error* error) noexcept { delete error; }

void no_value(const Status& status) {
#ifdef __cpp_exceptions
  if (status.code() == Code::kNoMem) throw std::bad_alloc();
  throw std::logic_error(str_cat(
      "a result was taken for a value: ",
      status.ok() ? std::string("it has neither value nor error") : status.error().to_string()));
#else
  (void)status;
  std::abort();
#endif
}

Status failed(Code code, uint64_t kinds, const AppendPiece* others, ...) {
  Error error;
  error.code = code;
  va_list pieces;
  va_start(pieces, others);
  while (kinds != 0) {
    // Literals are part of the program; other pieces may contain names from a file.
    const auto kind = static_cast<PieceKind>(kinds % (1U << kPieceKindBits));
    std::string piece;
    append_next(piece, &kinds, &others, &pieces);
    error.message += kind == PieceKind::kChars ? piece : printable(piece);
  }
  va_end(pieces);
  return Status(std::move(error));
}
RILL_NOT_IN_STEPS_END

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kArg:
      return "argument";
    case Code::kIo:
      return "input/output";
    case Code::kParse:
      return "parse";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kShape:
      return "shape";
    case Code::kDType:
      return "dtype";
    case Code::kSymbol:
      return "symbol";
    case Code::kPulse:
      return "pulse";
    case Code::kState:
      return "state";
    case Code::kNoMem:
      return "memory";
    case Code::kAbi:
      return "abi";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string Error::to_string() const {
  std::string out;
  if (!file.empty()) {
    out += printable(file);
    if (line > 0) out += str_cat(":", line);
    if (line > 0 && column > 0) out += str_cat(":", column);
    out += ": ";
  }
  if (!node.empty() || !op.empty()) {
    if (!node.empty()) out += str_cat("node \"", printable(node), "\"");
    if (!op.empty()) out += str_cat(node.empty() ? "" : " ", "(", printable(op), ")");
    out += ": ";
  }
  out += printable(message, Lines::kKept);
  if (!hint.empty()) out += str_cat(". ", printable(hint));
  return out;
}

Status Status::at(std::string_view file, int line, int column) && {
  if (error_) {
    if (error_->file.empty()) error_->file = file;
    if (error_->line == 0) {
      error_->line = line;
      error_->column = column;
    }
  }
  return std::move(*this);
}

Status Status::in_node(std::string_view node, std::string_view op) && {
  if (error_) {
    if (error_->node.empty()) error_->node = node;
    if (error_->op.empty()) error_->op = op;
  }
  return std::move(*this);
}

RILL_NOT_IN_STEPS_BEGIN
Status Status::hint(const char* next_step) && RILL_NONBLOCKING {
  return std::move(*this).hint(std::string_view(next_step));
}

Status Status::hint(std::string_view next_step) && RILL_NONBLOCKING {
  if (error_ && error_->hint.empty()) error_->hint = next_step;
  return std::move(*this);
}
RILL_NOT_IN_STEPS_END

Status Refusal::status() const {
  if (ok()) return {};
  Status out = fail(code, message);
  return *hint == '\0' ? std::move(out) : std::move(out).hint(hint);
}

}  // namespace rill
