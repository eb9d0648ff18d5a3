#include "ops/nn/resample_stream.h"

#include <algorithm>

#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/nn/resample_taps.h"
#include "ops/nn/resize_stream_step.h"

namespace rill::ops {
namespace {

std::vector<Phase> phases_of(const ResizeAxis& how, int64_t up) {
  // Take an extent so large that no tap reaches an edge.
  Taps taps(how, int64_t{1} << 40, int64_t{1} << 40);
  std::vector<Phase> out(static_cast<size_t>(up));
  for (int64_t i = 0; i < up; ++i) {
    Phase& phase = out[static_cast<size_t>(i)];
    taps.move_to(i);
    if (how.is_nearest()) {
      phase.at = {taps.tap(taps.weight(1) != 0.0F ? 1 : 0)};
      phase.weight = {1.0F};
      continue;
    }
    for (int64_t k = 0; k < taps.count(); ++k) {
      if (taps.weight(k) == 0.0F) continue;
      phase.at.push_back(taps.tap(k));
      phase.weight.push_back(taps.weight(k));
    }
  }
  return out;
}

/// Return the first frame that a phase may read, relative to its period. Taps past the end of the
/// stream read its last frame, which is not before the start of the period.
int64_t first_of(const Phase& phase) {
  return std::min<int64_t>(0, *std::min_element(phase.at.begin(), phase.at.end()));
}
int64_t last_of(const Phase& phase) {
  return *std::max_element(phase.at.begin(), phase.at.end());
}

/// Finds the input frames of outputs o = period * up + phase.
class Places {
 public:
  Places(const ResizeAxis& how, int64_t up, int64_t down)
      : up_(up), down_(down), phases_(phases_of(how, up)) {}

  int64_t first(int64_t o) const { return period(o) * down_ + first_of(phase(o)); }
  int64_t last(int64_t o) const { return period(o) * down_ + last_of(phase(o)); }

 private:
  int64_t period(int64_t o) const { return o >= 0 ? o / up_ : -((-o + up_ - 1) / up_); }
  const Phase& phase(int64_t o) const { return phases_[static_cast<size_t>(o - period(o) * up_)]; }

  int64_t up_;
  int64_t down_;
  std::vector<Phase> phases_;
};

/// Return the smallest output delay, in frames, at which all frames that an output depends on have
/// arrived. Outputs before the first frame depend on that frame.
int64_t least_delay(const Places& places, int64_t delay, int64_t pulse, int64_t up, int64_t down) {
  const int64_t out_pulse = pulse * up / down;
  // Outputs of later periods depend on later frames, so only the last period of a pulse matters.
  const auto waits = [&](int64_t out_delay) {
    for (int64_t at = out_pulse - up; at < out_pulse; ++at) {
      if (places.last(at - out_delay) + delay >= pulse) return true;
    }
    for (int64_t o = 0; delay > 0 && places.last(o) < 0; ++o) {
      if ((o + out_delay) / out_pulse < delay / pulse) return true;
    }
    return false;
  };
  // With a smaller delay the last output waits: its coordinate is at most a frame before o * down /
  // up.
  int64_t out_delay = std::max<int64_t>(0, (delay - 2) * up / down - up);
  while (waits(out_delay)) ++out_delay;
  return out_delay;
}

/// Return the ratio of the extents if it is the same for all values of the symbols; else 0.
float scale_of_extents(const SymbolScope& scope, const Dim& from, const Dim& to) {
  constexpr int64_t kMostUp = 64;
  constexpr int64_t kMostDown = 16;
  for (int64_t down = 1; down <= kMostDown; ++down) {
    for (int64_t up = 1; up <= kMostUp; ++up) {
      if (!(scope.simplify(from * Dim(up) - to * Dim(down)) == Dim(0))) continue;
      return static_cast<float>(up) / static_cast<float>(down);
    }
  }
  return 0.0F;
}

}  // namespace

Status resample_stream(const ResizeAxis& resize, PulseBuilder& b) {
  StreamFact stream = *b.stream(0);
  const Dim& from = b.in(0).dim(stream.axis);
  ResizeAxis how = resize;
  if (how.scale == 0.0F) how.scale = scale_of_extents(b.scope(), from, how.to);
  const Taps::Ratio ratio = how.scale > 0.0F ? Taps::ratio(how.scale) : Taps::Ratio();
  const int64_t up = ratio.up;
  const int64_t down = ratio.down;
  const bool one_sample = how.coord == "pytorch_half_pixel" && down > up;
  if (up == down || !how.is_local() || how.exclude_outside || one_sample) {
    return b.refuse(
        "Resample the streaming axis by a whole number or a fraction of them, as 3/2, with places "
        "that follow from the scale: half_pixel or asymmetric",
        "it resamples streaming axis ", stream.axis, " from ", from, " to ", how.to, " frames, \"",
        how.coord, "\": places or weights depend on the length of the stream");
  }
  RILL_ASSIGN(OutletId x, b.hold(b.wire(0), &stream));
  RILL_ASSIGN(const int64_t pulse, b.pulse_of(x, stream.axis));
  if (pulse % down != 0) {
    return b.refuse_pulse(pulse, down, "a pulse of ", counted(pulse, "frame"),
                          " is not a multiple of ", down);
  }
  const Places places(how, up, down);
  auto op = draft_op<PulseResize>();
  op->how = how;
  op->how.to = 0;  // the pulse decides it
  op->how.outside = 0.0F;
  op->up = up;
  op->down = down;
  op->delay = stream.delay;
  op->out_delay = least_delay(places, stream.delay, pulse, up, down);
  op->length = stream.dim;
  // The outputs of a pulse read at most this number of frames before the pulse.
  for (int64_t at = 0; at < up; ++at) {
    op->overlap = std::max(op->overlap, -(places.first(at - op->out_delay) + stream.delay));
  }
  RILL_ASSIGN(x, b.delay(x, stream, 0, op->overlap));
  StreamFact out = stream;
  out.pad_value = nullptr;
  out.delay = op->out_delay;
  out.dim = b.out(0).dim(stream.axis);
  RILL_ASSIGN(const OutletId wire, b.add1(std::move(op), {x}));
  b.set(0, wire, out);
  return {};
}

void PulseResize::fields(FieldVisitor& visitor) {
  how.fields(visitor);
  visitor.field("up", up);
  visitor.field("down", down);
  visitor.field("overlap", overlap);
  visitor.field("delay", delay);
  visitor.field("out_delay", out_delay);
  visitor.field("length", length);
}

Result<Facts> PulseResize::infer(FactSpan in) const {
  const int axis = static_cast<int>(how.axis);
  RILL_CHECK(how.axis >= 0 && how.axis < in[0].rank(), "no axis ", how.axis, " in ", in[0]);
  RILL_CHECK(up >= 1 && down >= 1 && up <= 4096 && down <= 4096 && overlap >= 0 &&
                 overlap < kMostFrames && delay > -kMostFrames && delay < kMostFrames &&
                 out_delay >= 0 && out_delay < kMostFrames,
             "up ", up, ", down ", down, ", overlap ", overlap, ", delays ", delay, " and ",
             out_delay, " are out of range");
  const Taps::Ratio ratio = how.scale > 0.0F ? Taps::ratio(how.scale) : Taps::Ratio();
  const bool fits = ratio.up == up && ratio.down == down;
  RILL_CHECK(fits && how.is_local() && !how.exclude_outside, "scale ", how.scale, ": expected ", up,
             " / ", down);
  RILL_ASSIGN(Facts out, how.infer(in));
  const auto frames = in[0].dim(axis).to_int();
  RILL_CHECK(frames && *frames >= overlap && (*frames - overlap) % down == 0, "axis ", how.axis,
             " of ", in[0], ": expected ", overlap, " frames and a multiple of ", down);
  out[0].shape[static_cast<size_t>(axis)] = Dim((*frames - overlap) / down * up);
  return out;
}

Status PulseResize::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "frames are counted: it runs in a prepared plan only");
}

Status PulseResize::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  ResizeArgs args;
  args.axis = static_cast<int>(how.axis);
  args.nearest = how.is_nearest();
  args.up = up;
  args.down = down;
  args.overlap = overlap;
  args.delay = delay;
  args.out_delay = out_delay;
  args.phases = phases_of(how, up);
  args.from = from;
  args.to = to;
  args.length = frames_so_far(lowering, length);
  if (to.volume() > 0) lowering.step(kResize, std::move(args), {from}, {to});
  return {};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  PulseResize op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  RILL_TRY(ctx.fields(op));
  RILL_ASSIGN(op.how.coord, ctx.text("coord_transformer"));
  RILL_ASSIGN(op.how.nearest, ctx.text("nearest_mode"));
  RILL_ASSIGN(op.how.cubic_a, ctx.number("cubic_coeff_a"));
  return ctx.add_value(make_op<PulseResize>(op), {input});
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_resize<?>(input: tensor<?>, axis: integer, up: integer, down: integer, "
     "overlap: integer, delay: integer, out_delay: integer, length: integer, scale: scalar, "
     "coord_transformer: string, interpolator: string, nearest_mode: string, cubic_coeff_a: "
     "scalar, "
     "antialias: logical) -> (output: tensor<?>);",
     load}};

}  // namespace

Status PulseResize::save(SaveCtx& ctx) const {
  return ctx.assign_declared(kOps[0], {{"coord_transformer", nnef_text(how.coord)},
                                       {"nearest_mode", nnef_text(how.nearest)},
                                       {"cubic_coeff_a", nnef_text(how.cubic_a)}});
}

extern const OpModule resample_stream_module;
const OpModule resample_stream_module = {"resample_stream", kOps};

}  // namespace rill::ops
