#include "ops/control/scan_lower.h"

#include <cstring>

#include "core/base/kept_count.h"
#include "ops/control/scan.h"
#include "ops/stream/frames.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

struct ScannedInput {
  uint32_t slot = 0;
  Ref from;
  int64_t chunk_bytes = 0;  ///< from one chunk to the next
  bool backward = false;
};

struct State {
  Operand initial;
  Operand kept;    ///< what the body reads
  Operand result;  ///< what the body gives
};

struct FullOutput {
  Operand result;
  Operand out;  ///< the slice for iteration 0
  int64_t chunk_bytes = 0;
  bool backward = false;
};

struct LastOutput {
  Operand result;
  Operand out;
  Operand kept;  ///< the output itself, unless it `keeps` what the body gave last
  bool keeps = false;
};

struct LoopArgs {
  std::shared_ptr<std::vector<Step>> steps;
  std::vector<ScannedInput> scanned;
  std::vector<State> states;
  std::vector<FullOutput> full;
  std::vector<LastOutput> last;
  int64_t iterations = 0;
  int64_t skip = 0;
  std::optional<FramesSoFar> limit;
  bool reset_every_turn = false;
  Ref counter;  ///< iterations of the stream so far
};

View moved(View view, int64_t bytes) {
  view.data = static_cast<std::byte*>(view.data) + bytes;
  return view;
}

constexpr int64_t kZero = 0;

void clear(const View& view) {
  View zero = view;
  zero.data = const_cast<int64_t*>(&kZero);
  zero.stride.fill(0);
  copy_view(zero, view);
}

void run_loop(const LoopArgs& loop, const Frame& frame) noexcept RILL_NONBLOCKING {
  auto& counter = *frame.ptr<int64_t>(loop.counter);
  counter = kept_count(counter);
  const int64_t limit = loop.limit ? loop.limit->now(frame) : INT64_MAX;
  if (counter <= loop.skip || loop.reset_every_turn) {
    for (const State& state : loop.states) {
      copy_view(frame.view(state.initial), frame.view(state.kept));
    }
  }
  bool ran = false;
  for (int64_t i = 0; i < loop.iterations; ++i) {
    const int64_t back = loop.iterations - 1 - i;
    const bool skipped = counter < loop.skip || counter >= limit;
    ++counter;
    ran |= !skipped;
    if (skipped) {
      for (const FullOutput& out : loop.full) {
        clear(moved(frame.view(out.out), (out.backward ? back : i) * out.chunk_bytes));
      }
      continue;
    }
    for (const ScannedInput& in : loop.scanned) {
      frame.base[in.slot] =
          frame.ptr<std::byte>(in.from) + (in.backward ? back : i) * in.chunk_bytes;
    }
    for (const Step& step : *loop.steps) run_step(step, frame);
    for (const FullOutput& out : loop.full) {
      copy_view(frame.view(out.result),
                moved(frame.view(out.out), (out.backward ? back : i) * out.chunk_bytes));
    }
    for (const State& state : loop.states) {
      copy_view(frame.view(state.result), frame.view(state.kept));
    }
  }
  // What the body gave last is kept: another pulse may not run it at all.
  for (const LastOutput& out : loop.last) {
    if (ran || !out.keeps) copy_view(frame.view(out.result), frame.view(out.kept));
    if (out.keeps) copy_view(frame.view(out.kept), frame.view(out.out));
  }
}

}  // namespace

Status lower_scan(const Scan& scan, Lowering& lowering) {
  LoopArgs loop;
  std::vector<Operand> sources;
  std::vector<Ref> reads;
  std::vector<Ref> writes;
  std::vector<size_t> state_inputs;
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    const Scan::Input& input = scan.inputs[i];
    const Operand& outer = lowering.in(static_cast<int>(i));
    reads.push_back(outer.ref);
    if (input.kind == Kind::kFull) {
      sources.push_back(outer);
      continue;
    }
    if (input.kind == Kind::kState) {
      Operand kept = outer;
      kept.konst = nullptr;
      std::vector<int64_t> shape(outer.shape.begin(), outer.shape.begin() + outer.rank);
      kept = lowering.scratch(outer.dtype, shape);
      if (!scan.reset_every_turn) {
        kept.ref = lowering.state(std::max<int64_t>(1, kept.volume()) * dtype_size(kept.dtype));
      }
      writes.push_back(kept.ref);
      state_inputs.push_back(i);
      loop.states.push_back({outer, kept, {}});
      sources.push_back(kept);
      continue;
    }
    ScannedInput scanned;
    const int axis = static_cast<int>(input.axis);
    const int64_t chunk = std::abs(input.chunk);
    scanned.slot = lowering.slot();
    scanned.from = outer.ref;
    scanned.chunk_bytes = chunk * outer.step(axis) * dtype_size(outer.dtype);
    scanned.backward = input.chunk < 0;
    if (loop.scanned.empty()) loop.iterations = outer.extent(axis) / chunk;
    Operand inner = outer;
    inner.konst = nullptr;
    inner.shape[static_cast<size_t>(axis)] = chunk;
    inner.ref = {scanned.slot, 0};
    loop.scanned.push_back(scanned);
    sources.push_back(inner);
  }
  RILL_ASSIGN(Lowering::Body body, lowering.body(*scan.body, sources));
  loop.steps = body.steps;
  for (size_t s = 0; s < loop.states.size(); ++s) {
    loop.states[s].result = body.outputs[static_cast<size_t>(scan.state_results[s])];
    loop.states[s].result.konst = nullptr;
  }
  for (size_t i = 0; i < scan.outputs.size(); ++i) {
    const Scan::Output& output = scan.outputs[i];
    const Operand& result = body.outputs[static_cast<size_t>(output.result)];
    const Operand out = lowering.make_out(static_cast<int>(i));
    writes.push_back(out.ref);
    reads.push_back(result.ref);
    if (output.last) {
      Operand kept = out;
      if (!(scan.limit == Dim(0))) {
        kept.ref = lowering.state(std::max<int64_t>(1, kept.volume()) * dtype_size(kept.dtype));
        writes.push_back(kept.ref);
      }
      loop.last.push_back({result, out, kept, !(scan.limit == Dim(0))});
      continue;
    }
    const int axis = static_cast<int>(output.axis);
    FullOutput full{result, out, 0, output.chunk < 0};
    full.out.shape[static_cast<size_t>(axis)] = result.extent(axis);
    full.chunk_bytes = result.extent(axis) * out.step(axis) * dtype_size(out.dtype);
    loop.full.push_back(full);
  }
  loop.skip = scan.skip;
  if (!(scan.limit == Dim(0))) loop.limit.emplace(scan.limit);
  loop.reset_every_turn = scan.reset_every_turn;
  loop.counter = lowering.state(sizeof(int64_t));
  writes.insert(writes.end(), body.buffers.begin(), body.buffers.end());
  lowering.step_list(run_loop, std::move(loop), std::move(reads), std::move(writes));
  return {};
}

}  // namespace rill::ops
