#include "emit_c/step_writer.h"

#include <algorithm>
#include <cstring>

#include "core/base/search.h"
#include "emit_c/math_text.h"
#include "emit_c/text.h"

namespace rill::emit_c {
namespace {

constexpr int64_t kFloatBytes = 4;

const MathPiece& piece(std::string_view name) {
  for (const MathPiece& each : math_pieces()) {
    if (each.name == name) return each;
  }
  __builtin_trap();
}

void need(std::string_view name, std::set<std::string, std::less<>>* all) {
  if (!all->emplace(name).second) return;
  std::string_view needs = piece(name).needs;
  while (!needs.empty()) {
    const size_t space = std::min(needs.find(' '), needs.size());
    need(needs.substr(0, space), all);
    needs.remove_prefix(std::min(space + 1, needs.size()));
  }
}

}  // namespace

std::string plus(const std::string& name, int64_t offset) {
  if (offset == 0) return name;
  return str_cat("(", name, offset < 0 ? " - " : " + ", offset < 0 ? -offset : offset, ")");
}

std::string times(const std::string& variable, int64_t stride) {
  if (variable.empty() || stride == 0) return "";
  if (stride == 1) return " + " + variable;
  return str_cat(stride < 0 ? " - " : " + ", variable, " * ", stride < 0 ? -stride : stride);
}

std::string Loops::add(int64_t count) {
  const std::string name = str_cat("i", count_++);
  if (count == 1) return "";
  begin_ += str_cat(depth_ == 0 ? "" : " ", "for (int ", name, " = 0; ", name, " < ", count, "; ++",
                    name, ") {");
  ++depth_;
  return name;
}

std::string StepWriter::floats(const Ref& ref, int64_t offset) {
  const PlanBuffer& buffer = plan().buffers[ref.buffer];
  used_.insert(ref.buffer);
  const int64_t at = ref.offset / kFloatBytes + offset;
  switch (buffer.kind) {
    case BufferKind::kArena:
      return plus("s->arena", arena_[ref.buffer] + at);
    case BufferKind::kConst: {
      const auto* data = static_cast<const float*>(buffer.data.get());
      const auto count = static_cast<size_t>(buffer.bytes / kFloatBytes);
      return plus(constant({data, data == nullptr ? 0 : count}), at);
    }
    case BufferKind::kInput:
      return plus(str_cat("in", buffer.io), at);
    case BufferKind::kOutput:
      return plus(str_cat("out", buffer.io), at);
    case BufferKind::kRing:
      return plus(str_cat("(s->b", ref.buffer, " + s->at", ref.buffer, ")"), at);
    default:
      return plus(str_cat("s->b", ref.buffer), at);
  }
}

Result<std::string> StepWriter::floats(const PlacedView& operand) {
  if (operand.dtype != DType::kF32) {
    return fail(Code::kUnsupported, "an operand of type ", dtype_name(operand.dtype),
                " cannot be emitted as C: expected f32");
  }
  return floats(operand.ref);
}

const float* StepWriter::contents(const Ref& ref) const {
  const PlanBuffer& buffer = plan().buffers[ref.buffer];
  if (buffer.kind != BufferKind::kConst || buffer.data == nullptr) return nullptr;
  return reinterpret_cast<const float*>(static_cast<const std::byte*>(buffer.data.get()) +
                                        ref.offset);
}

std::string StepWriter::constant(std::span<const float> values) {
  constexpr size_t kPerLine = 8;
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i % kPerLine == 0 ? "\n  " : " ") + c_float(values[i]) + ",";
  }
  if (values.empty()) text = "0.0f";
  const std::string name = str_cat("@w", arrays_.size());
  const auto [found, is_new] = by_text_.emplace(text, name);
  if (is_new) {
    arrays_.push_back(str_cat("static const @ALIGNED float ", name, "[",
                              std::max<size_t>(1, values.size()), "] = {", text, "\n};\n"));
  }
  return found->second;
}

std::string StepWriter::function(const std::string& text) {
  const auto found = by_text_.find(text);
  if (found != by_text_.end()) return found->second;
  const std::string name = str_cat("@f", number_, "_", by_text_.size());
  by_text_.emplace(text, name);
  std::string own = text;
  for (size_t at = own.find("@NAME"); at != std::string::npos; at = own.find("@NAME")) {
    own.replace(at, 5, name);
  }
  functions_ += own + "\n";
  return name;
}

std::string StepWriter::math(std::string_view name) {
  need(name, &math_);
  return str_cat("@", name);
}

std::string StepWriter::position(int64_t frames) {
  uses_clock_ = true;
  return str_cat("(s->step * (int64_t)", frames, ")");
}

Result<std::string> StepWriter::extent(const Extent& extent, int64_t unknown) {
  if (!extent.valid()) return str_cat("(int64_t)", unknown);
  const auto is_symbol = [](const Extent::Part& part) { return part.what == Extent::Do::kSymbol; };
  if (any_of(extent.parts(), is_symbol)) use_end();
  return extent_at(extent, "@at_least(s->end, 0)");
}

Result<std::string> StepWriter::extent_at(const Extent& extent, std::string_view symbol,
                                          std::vector<std::string>* clashes) const {
  std::vector<std::string> stack;
  for (const Extent::Part& part : extent.parts()) {
    if (part.what == Extent::Do::kNumber) {
      stack.push_back(str_cat("(int64_t)", part.number));
      continue;
    }
    if (part.what == Extent::Do::kSymbol) {
      stack.emplace_back(symbol);
      continue;
    }
    if (part.what == Extent::Do::kDiv) {
      stack.back() = str_cat("@floor_div(", stack.back(), ", ", part.number, ")");
      continue;
    }
    const std::string b = stack.back();
    stack.pop_back();
    std::string& a = stack.back();
    switch (part.what) {
      case Extent::Do::kAdd:
        a = str_cat("(", a, " + ", b, ")");
        break;
      case Extent::Do::kMul:
        a = str_cat("(", a, " * ", b, ")");
        break;
      case Extent::Do::kMin:
        a = str_cat("@at_most(", a, ", ", b, ")");
        break;
      case Extent::Do::kMax:
        a = str_cat("@at_least(", a, ", ", b, ")");
        break;
      case Extent::Do::kGe:
        a = str_cat("(int64_t)(", a, " >= ", b, ")");
        break;
      case Extent::Do::kEq:
        a = str_cat("(int64_t)(", a, " == ", b, ")");
        break;
      default:
        if (clashes == nullptr) {
          return fail(Code::kUnsupported, "the length of its stream broadcasts lengths");
        }
        clashes->push_back(str_cat(a, " != 1 && ", b, " != 1 && ", a, " != ", b));
        a = str_cat("(", a, " == 1 ? ", b, " : ", a, ")");
    }
  }
  return stack.back();
}

Result<std::string> StepWriter::frames_now(const FramesSoFar& frames) {
  RILL_ASSIGN(const std::string at_end, extent(frames.length, kEndless));
  use_end();
  const int64_t most = std::clamp(frames.most, -kEndless, kEndless);
  return str_cat("(s->end < 0 ? (int64_t)", most, " : ", at_end, ")");
}

void copy_floats(const PlacedView& from, const std::string& from_at, const PlacedView& to,
                 const std::string& to_at, StepWriter& writer) {
  if (to.volume() == 0) return;
  // The axes from the largest stride of the result to the smallest; the last ones are one run.
  std::vector<int> order;
  for (int axis = 0; axis < to.rank; ++axis) {
    if (to.extent(axis) > 1) order.push_back(axis);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return to.step(a) > to.step(b); });
  int64_t run = 1;
  while (!order.empty() && to.step(order.back()) == run && from.step(order.back()) == run) {
    run *= to.extent(order.back());
    order.pop_back();
  }
  Loops loops;
  std::string x, y;
  for (const int axis : order) {
    const std::string i = loops.add(to.extent(axis));
    x += times(i, from.step(axis));
    y += times(i, to.step(axis));
  }
  const std::string body =
      run > 1 ? str_cat("memcpy(", to_at, y, ", ", from_at, x, ", ", run * kFloatBytes, ");")
              : str_cat("*(", to_at, y, ") = *(", from_at, x, ");");
  writer.line(loops.begin() + (loops.begin().empty() ? "" : " ") + body + loops.end());
}

}  // namespace rill::emit_c
