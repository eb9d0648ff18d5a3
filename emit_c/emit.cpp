#include "emit_c/emit.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/base/search.h"
#include "core/exec/layout.h"
#include "emit_c/math_text.h"
#include "emit_c/text.h"

namespace rill::emit_c {
namespace {

constexpr int64_t kFloatBytes = 4;

constexpr std::string_view kRemedy =
    "Compile it to a .rill file with -o, and link librill_run, which runs every plan";

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

/// Return a unique identifier for each input or output.
std::vector<std::string> io_names(const List<PlanIo>& ios, std::string_view fallback,
                                  std::set<std::string>* taken) {
  std::vector<std::string> out;
  for (const PlanIo& io : ios) {
    const std::string base = identifier(io.name.view(), fallback);
    std::string name = base;
    // The names must differ in capitals too, for the constants of the header.
    for (int i = 2; !taken->insert(upper(name)).second; ++i) name = str_cat(base, "_", i);
    out.push_back(name);
  }
  return out;
}

std::string shape_text(const PlanIo& io) {
  std::string out;
  for (const int64_t extent : io.shape) out += str_cat(out.empty() ? "" : ", ", extent);
  return "[" + out + "]";
}

/// A ring of one lane. It writes each row twice, half a ring apart, so that each window is
/// contiguous. `row`: floats of a row; `half`: rows of one half.
struct MirroredRing {
  int64_t row = 0;
  int64_t half = 0;

  explicit MirroredRing(const Ring& ring)
      : row(ring.row_bytes / kFloatBytes),
        half(ring.pulse == 0 ? 0 : (ring.history + 2 * ring.pulse - 1) / ring.pulse * ring.pulse) {}
};

constexpr std::string_view kPreamble = R"(
#include <math.h>
#include <string.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "this file needs IEEE arithmetic: compile it without -ffast-math and its parts"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "this file needs floats that are computed as floats, as with -msse2 -mfpmath=sse"
#endif
/* A product and a sum stay two roundings, unless fmaf joins them. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__GNUC__)
#define @ALIGNED __attribute__((aligned(64)))
#define @RESTRICT __restrict__
#define @NOINLINE __attribute__((noinline))
#elif defined(_MSC_VER)
#define @ALIGNED __declspec(align(64))
#define @RESTRICT __restrict
#define @NOINLINE __declspec(noinline)
#elif defined(__cplusplus)
#define @ALIGNED alignas(64)
#define @RESTRICT
#define @NOINLINE
#else
#define @ALIGNED _Alignas(64)
#define @RESTRICT restrict
#define @NOINLINE
#endif

/* Loops over the terms of sums are unrolled where a pragma says so. */
#if defined(__clang__)
#define @UNROLL _Pragma("unroll 4")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define @UNROLL _Pragma("GCC unroll 4")
#else
#define @UNROLL
#endif

/* Denormals are zeros while a step runs. With other compilers, set the mode around it. */
#if defined(__GNUC__) && (defined(__SSE__) || defined(__x86_64__))
typedef uint32_t @mode;
#define @MODE 0x9fc0u
static inline @mode @get_mode(void) { return __builtin_ia32_stmxcsr(); }
static inline void @set_mode(@mode mode) { __builtin_ia32_ldmxcsr(mode); }
#elif defined(__GNUC__) && defined(__aarch64__)
typedef uint64_t @mode;
#define @MODE 0x1000000u
static inline @mode @get_mode(void) {
  @mode mode;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void @set_mode(@mode mode) { __asm__ __volatile__("msr fpcr, %0" : : "r"(mode)); }
#elif defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP)
typedef uint32_t @mode;
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
#define @MODE 0x1040000u
#else
#define @MODE 0x1000000u
#endif
static inline @mode @get_mode(void) {
  @mode mode;
  __asm__ __volatile__("vmrs %0, fpscr" : "=r"(mode));
  return mode;
}
static inline void @set_mode(@mode mode) { __asm__ __volatile__("vmsr fpscr, %0" : : "r"(mode)); }
#else
typedef int @mode;
#define @MODE 0
static inline @mode @get_mode(void) { return 0; }
static inline void @set_mode(@mode mode) { (void)mode; }
#endif
/* To read the mode, a processor would wait for all earlier arithmetic; two products tell it too. */
static int @flushes(void) {
  static volatile const float least = 1.17549435e-38f, denormal = 1e-40f;
  return least * 0.5f + denormal * 1e10f == 0.0f;
}

)";

}  // namespace

/// Writes one plan.
class Emitter {
 public:
  Emitter(const Plan& plan, std::span<const StepText* const> texts, const EmitOptions& options)
      : plan_(plan), texts_(texts), options_(options), to_(plan, options.arithmetic) {
    std::set<std::string> taken;
    inputs_ = io_names(plan.inputs, "in", &taken);
    outputs_ = io_names(plan.outputs, "out", &taken);
  }

  Result<Source> run() {
    RILL_TRY(check_interface());
    // Write once to find the buffers of the arena that steps use, then again with their places.
    RILL_TRY(write_steps());
    lay_out_arena();
    std::map<uint32_t, int64_t> arena = to_.arena_;
    to_ = StepWriter(plan_, options_.arithmetic);
    to_.arena_ = std::move(arena);
    RILL_TRY(write_steps());
    write_buffers();
    RILL_TRY(write_lengths());
    return Source{with_prefix(header(), options_.name + "_"),
                  with_prefix(code(), options_.name + "_")};
  }

 private:
  Status check_interface() const {
    for (const List<PlanIo>* ios : {&plan_.inputs, &plan_.outputs}) {
      for (const PlanIo& io : *ios) {
        if (io.dtype == DType::kF32) continue;
        return fail(Code::kUnsupported, ios == &plan_.inputs ? "input" : "output", " \"",
                    io.name.view(), "\" is of type ", dtype_name(io.dtype),
                    "; emitted C only has f32")
            .hint(kRemedy);
      }
    }
    return {};
  }

  Status write_steps() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      const auto text = std::find_if(texts_.begin(), texts_.end(), [&](const StepText* each) {
        return std::string_view(each->kind->name) == step.kind->name;
      });
      to_.number_ = i;
      const bool known = step.node >= 0 && static_cast<size_t>(step.node) < plan_.nodes.size();
      const PlanNode none;
      const PlanNode& node = known ? plan_.nodes[static_cast<size_t>(step.node)] : none;
      Status status = text == texts_.end() ? fail(Code::kUnsupported, "steps of the kind \"",
                                                  step.kind->name, "\" cannot be emitted as C")
                                           : Status();
      to_.lines_ +=
          str_cat("  /* ", comment_text(node.name.view()), " (", step.kind->name, ") */\n");
      if (text != texts_.end()) status = (*text)->write(step.args, to_);
      if (status.ok()) continue;
      return std::move(status).in_node(node.name.view(), node.op.view()).hint(kRemedy);
    }
    return {};
  }

  /// Write the body of the function that returns whether the model is defined for a length of
  /// stream. A stream of no frames is allowed if the model has no output then, even where a whole
  /// run would fail.
  Status write_lengths() {
    if (plan_.stream_symbol.empty()) return {};
    // Refuse lengths at which a condition overflows. A broadcast has no value where its extents
    // clash; the maximum of these extents is equal where they fit, and always has a value.
    int64_t most = std::min<int64_t>(plan_.longest, INT32_MAX);
    const auto overflows = [&](const Extent& each) {
      std::vector<Extent::Part> parts(each.parts().begin(), each.parts().end());
      for (Extent::Part& part : parts) {
        if (part.what == Extent::Do::kBroadcast) part.what = Extent::Do::kMax;
      }
      return !Extent(std::move(parts)).at(most);
    };
    while (most > 0 && any_of(plan_.asserted, overflows)) most /= 2;
    const bool gives = any_of(plan_.outputs, [](const PlanIo& io) {
      return io.stream.axis < 0 || io.stream.length.at(0).value_or(1) > 0;
    });
    const bool none = all_of(plan_.asserted, [&](const Extent& each) {
      return each.at(0).value_or(-1) >= 0 || (!gives && each.at(1).value_or(-1) >= 0);
    });
    lengths_ = str_cat("  if (frames <= 0) return frames == 0", none ? "" : " && 0", ";\n");
    if (most < INT32_MAX) lengths_ += str_cat("  if (frames > ", most, ") return 0;\n");
    for (const Extent& each : plan_.asserted) {
      std::vector<std::string> clashes;
      RILL_ASSIGN(const std::string value, to_.extent_at(each, "(int64_t)frames", &clashes));
      for (const std::string& clash : clashes) lengths_ += "  if (" + clash + ") return 0;\n";
      lengths_ += str_cat("  if (", value, " < 0) return 0;\n");
    }
    lengths_ += "  return 1;\n";
    return {};
  }

  void lay_out_arena() {
    std::vector<Lifetime> alive;
    std::vector<uint32_t> buffers;
    for (const uint32_t index : to_.used_) {
      const PlanBuffer& buffer = plan_.buffers[index];
      if (buffer.kind != BufferKind::kArena) continue;
      buffers.push_back(index);
      alive.push_back({buffer.bytes, buffer.first_step, buffer.last_step, 0});
    }
    arena_floats_ = lay_out(alive) / kFloatBytes;
    for (size_t i = 0; i < buffers.size(); ++i) {
      to_.arena_[buffers[i]] = alive[i].offset / kFloatBytes;
    }
  }

  /// Write the members of the state that are buffers of the plan, and their values at the start.
  /// Then write the end of a step, which advances the rings.
  void write_buffers() {
    for (const uint32_t index : to_.used_) {
      const PlanBuffer& buffer = plan_.buffers[index];
      if (buffer.kind == BufferKind::kState) {
        add_buffer(index, buffer.bytes / kFloatBytes);
        start(str_cat("s->b", index), buffer, static_cast<int64_t>(buffer.initial.size()));
      }
    }
    for (const Ring& ring : plan_.rings) {
      if (!to_.used_.contains(ring.buffer)) continue;
      if (ring.lanes == 1) {
        write_mirrored(ring);
      } else {
        write_lanes(ring);
      }
    }
  }
  void add_buffer(uint32_t index, int64_t floats) {
    to_.member(str_cat("float b", index, "[", std::max<int64_t>(1, floats), "];"));
  }
  void start(const std::string& at, const PlanBuffer& buffer, int64_t bytes) {
    bytes = std::min(bytes, static_cast<int64_t>(buffer.initial.size()));
    std::vector<float> values(static_cast<size_t>(bytes / kFloatBytes));
    if (values.empty()) return;
    std::memcpy(values.data(), buffer.initial.data(), values.size() * kFloatBytes);
    if (std::all_of(values.begin(), values.end(), [](float v) { return v == 0.0F; })) return;
    to_.reset_line(str_cat("memcpy(", at, ", ", to_.constant(values), ", ",
                           values.size() * kFloatBytes, ");"));
  }
  void write_mirrored(const Ring& ring) {
    const MirroredRing own(ring);
    const uint32_t b = ring.buffer;
    const int64_t first = (own.half - ring.history) * own.row;
    add_buffer(b, 2 * own.half * own.row);
    to_.member(str_cat("int32_t at", b, ";"));
    start(plus(str_cat("s->b", b), first), plan_.buffers[b], ring.history * ring.row_bytes);
    to_.reset_line(str_cat("s->at", b, " = ", first, ";"));
    const int64_t step = ring.pulse * own.row;
    if (step == 0) return;
    // The new rows, which readers saw after the history, and their copy half a ring earlier.
    const std::string at = str_cat("s->at", b);
    rings_ += str_cat("  memcpy(s->b", b, " + ", at, " - ", first, ", s->b", b, " + ", at, " + ",
                      ring.history * own.row, ", ", step * kFloatBytes, ");\n");
    rings_ += str_cat("  ", at, " += ", step, ";\n  if (", at, " == ", first + own.half * own.row,
                      ") ", at, " = ", first, ";\n");
  }
  void write_lanes(const Ring& ring) {
    const PlanBuffer& buffer = plan_.buffers[ring.buffer];
    const uint32_t b = ring.buffer;
    const int64_t row = ring.row_bytes / kFloatBytes;
    add_buffer(b, buffer.bytes / kFloatBytes);
    to_.member(str_cat("int32_t at", b, ";"));
    start(str_cat("s->b", b), buffer, static_cast<int64_t>(buffer.initial.size()));
    const int64_t step = ring.pulse * row;
    const int64_t last = (ring.capacity - ring.history - ring.pulse) * row;
    if (step == 0) return;
    rings_ += str_cat("  s->at", b, " += ", step, ";\n  if (s->at", b, " > ", last, ") {\n");
    if (ring.history > 0) {
      rings_ += str_cat("    for (int i = 0; i < ", ring.lanes, "; ++i) memmove(s->b", b, " + i * ",
                        ring.lane_bytes / kFloatBytes, ", s->b", b, " + i * ",
                        ring.lane_bytes / kFloatBytes, " + s->at", b, ", ",
                        ring.history * ring.row_bytes, ");\n");
    }
    rings_ += str_cat("    s->at", b, " = 0;\n  }\n");
  }

  std::string parameters(bool inner) const {
    std::string out = inner ? "@state *@RESTRICT s" : "@state *state";
    for (size_t i = 0; i < inputs_.size(); ++i) {
      out += ", const float *" + (inner ? str_cat("in", i) : inputs_[i]);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      out += ", float *" + (inner ? str_cat("out", i) : outputs_[i]);
    }
    return out;
  }

  std::string io_lines(const List<PlanIo>& ios, const std::vector<std::string>& names,
                       const char* what) const {
    std::string out;
    for (size_t i = 0; i < ios.size(); ++i) {
      const PlanIo& io = ios[i];
      out += str_cat(" *   ", names[i], ": ", what, " \"", comment_text(io.name.view()), "\", ",
                     shape_text(io), " row by row");
      if (io.stream.axis >= 0) {
        out += str_cat(", frames on axis ", io.stream.axis, ", ", io.stream.pulse, " per step");
        if (what[0] == 'o') out += str_cat(", ", io.stream.delay, " late");
      }
      out += "\n";
    }
    return out;
  }

  void io_numbers(const List<PlanIo>& ios, const std::vector<std::string>& names,
                  std::string* out) const {
    for (size_t i = 0; i < ios.size(); ++i) {
      const std::string name = str_cat("@", upper(names[i]));
      *out += str_cat("  ", name, "_FLOATS = ", ios[i].bytes / kFloatBytes, ",\n");
      if (ios[i].stream.axis < 0) continue;
      *out += str_cat("  ", name, "_FRAMES = ", ios[i].stream.pulse, ",\n");
      if (&ios == &plan_.outputs) {
        *out += str_cat("  ", name, "_DELAY = ", ios[i].stream.delay, ",\n");
      }
    }
  }

  std::string header() const {
    const std::string guard = "@" + upper("h_included");
    std::string out =
        str_cat("/* ", comment_text(options_.model), " as C, made by rill compile --emit-c for ",
                comment_text(options_.target),
                ".\n *\n * One step computes the next frames of all inputs and outputs:\n");
    out += io_lines(plan_.inputs, inputs_, "input");
    out += io_lines(plan_.outputs, outputs_, "output");
    out +=
        " * They must not overlap each other or the state. The first frames of an output that is "
        "late\n"
        " * are not part of the result. Outputs have the bits of rill for the target above.\n"
        " * A state takes no heap, lock or pointer: it may be copied. Reset it before the first "
        "step.\n";
    for (const Property& each : options_.properties) {
      if (each.text.size() > 4000) continue;
      out += str_cat(" *\n * ", comment_text(each.key), ": ", comment_text(each.text), "\n");
    }
    out += " */\n";
    out += str_cat("#ifndef ", guard, "\n#define ", guard, "\n\n#include <stdint.h>\n\n",
                   "#if defined(__cplusplus)\nextern \"C\" {\n#endif\n\nenum {\n");
    io_numbers(plan_.inputs, inputs_, &out);
    io_numbers(plan_.outputs, outputs_, &out);
    if (!plan_.stream_symbol.empty()) {
      out += str_cat("  /* of ", comment_text(plan_.stream_symbol.view()),
                     " */\n  @PULSE = ", plan_.stream_pulse, ",\n");
    }
    for (const Property& each : options_.properties) {
      if (each.ints.size() != 1 || each.ints[0] < 0 || each.ints[0] > INT32_MAX) continue;
      if (each.key != "rill.sample_rate") continue;
      out += str_cat("  @SAMPLE_RATE = ", each.ints[0], ",\n");
    }
    out += "};\n\n";
    std::string members = to_.members_;
    if (to_.uses_clock_) members += "  int64_t step;\n";
    if (to_.uses_end_) members += "  int64_t end;\n";
    if (arena_floats_ > 0) members += str_cat("  float arena[", arena_floats_, "];\n");
    if (members.empty()) members = "  char none;\n";
    out += "typedef struct {\n" + members + "} @state;\n\n";
    out += "/* Begin a stream. */\nvoid @reset(@state *state);\n";
    if (!lengths_.empty()) {
      out += "/* Return whether the model is defined for a stream of `frames` frames. */\n"
             "int @suits(int32_t frames);\n";
    }
    if (to_.uses_end_) {
      out +=
          "/* Announce the frames of the whole stream before the step with its last ones; further "
          "steps output\n * the late frames. Return 0, without effect, if no stream of that many "
          "frames suits the model. */\n"
          "int @end(@state *state, int32_t frames);\n";
    }
    out += "void @step(" + parameters(false) + ");\n\n";
    return out + "#if defined(__cplusplus)\n}\n#endif\n\n#endif\n";
  }
  std::string code() const {
    std::string out =
        str_cat("/* ", comment_text(options_.model), ": see ", comment_text(options_.header),
                ". */\n#include \"", options_.header, "\"\n", kPreamble);
    const bool fused = options_.arithmetic.fused;
    const std::string sum = fused ? "fmaf(a, b, c)" : "a * b + c";
    out += str_cat("#define @FUSED ", fused ? 1 : 0, "\n");
    std::string body = to_.functions_ + to_.lines_ + lengths_;
    for (const MathPiece& each : math_pieces()) {
      if (to_.math_.contains(each.name)) body += each.text;
    }
    const auto uses = [&](std::string_view name) {
      return body.find(name) != std::string::npos || rings_.find(name) != std::string::npos;
    };
    if (uses("@madd(")) {
      out += "static inline float @madd(float a, float b, float c) { return " + sum + "; }\n";
    }
    add_clock_functions(uses, &out);
    for (const MathPiece& each : math_pieces()) {
      if (to_.math_.contains(each.name)) out += each.text;
    }
    out += "\n";
    for (const std::string& array : to_.arrays_) out += array;
    out += "\n" + to_.functions_;
    const bool keeps = !to_.members_.empty() || to_.uses_clock_ || arena_floats_ > 0;
    out += "void @reset(@state *state) {\n  @state *const s = state;\n  memset(s, 0, sizeof *s);\n";
    out += to_.resets_;
    if (to_.uses_end_) out += "  s->end = -1;\n";
    out += "}\n\n";
    if (!lengths_.empty()) out += "int @suits(int32_t frames) {\n" + lengths_ + "}\n\n";
    if (to_.uses_end_) {
      const std::string suits = lengths_.empty() ? "frames >= 0" : "@suits(frames)";
      out += "int @end(@state *state, int32_t frames) {\n  if (!(" + suits +
             ")) return 0;\n  state->end = frames;\n  return 1;\n}\n\n";
    }
    out += "static @NOINLINE void @run(" + parameters(true) + ") {\n";
    if (!keeps) out += "  (void)s;\n";
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!to_.used_.contains(plan_.inputs[i].buffer)) out += str_cat("  (void)in", i, ";\n");
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!to_.used_.contains(plan_.outputs[i].buffer)) out += str_cat("  (void)out", i, ";\n");
    }
    out += to_.lines_ + rings_;
    if (to_.uses_clock_) out += "  ++s->step;\n";
    out += "}\n\nvoid @step(" + parameters(false) + ") {\n";
    std::string call = "@run(state";
    for (const std::string& name : inputs_) call += ", " + name;
    for (const std::string& name : outputs_) call += ", " + name;
    call += ");";
    return out +
           "  if (@flushes()) {\n    " + call +
           "\n    return;\n  }\n  {\n  const @mode before = @get_mode();\n  @set_mode(@MODE);\n  " +
           call +
           "\n  @set_mode(before);\n  }\n}\n";
  }
  template <class Uses>
  void add_clock_functions(const Uses& uses, std::string* out) const {
    const bool floor = uses("@floor_div(");
    if (uses("@at_least(")) {
      *out += "static inline int64_t @at_least(int64_t a, int64_t b) { return a > b ? a : b; }\n";
    }
    if (uses("@at_most(")) {
      *out += "static inline int64_t @at_most(int64_t a, int64_t b) { return a < b ? a : b; }\n";
    }
    if (floor) {
      *out +=
          "static inline int64_t @floor_div(int64_t a, int64_t b) {\n"
          "  return a / b - (a % b < 0 ? 1 : 0);\n}\n";
    }
  }

  const Plan& plan_;
  std::span<const StepText* const> texts_;
  const EmitOptions& options_;
  StepWriter to_;
  std::vector<std::string> inputs_, outputs_;
  std::string rings_;
  std::string lengths_;  ///< the body of `suits`
  int64_t arena_floats_ = 0;
};

Result<Source> emit(const Plan& plan, std::span<const StepText* const> texts,
                    const EmitOptions& options) {
  return Emitter(plan, texts, options).run();
}

}  // namespace rill::emit_c
