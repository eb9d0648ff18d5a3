#include "ops/control/scan_lower.h"

#include <algorithm>
#include <optional>

#include "core/base/search.h"
#include "core/exec/frames.h"
#include "ops/control/loop_step.h"
#include "ops/control/scan.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

/// Return the number of the state that a result of the body updates; -1 if there is none.
int state_of(const Scan& scan, int result) {
  const Graph& body = *scan.body;
  for (size_t s = 0; s < scan.state_results.size(); ++s) {
    const auto own = static_cast<size_t>(scan.state_results[s]);
    if (body.outputs[own] == body.outputs[static_cast<size_t>(result)]) return static_cast<int>(s);
  }
  return -1;
}

/// Lowers one loop.
class LoopLowering {
 public:
  LoopLowering(const Scan& scan, Lowering& lowering) : scan_(scan), lowering_(lowering) {}

  Status run() {
    for (size_t i = 0; i < scan_.inputs.size(); ++i) place_input(i);
    RILL_ASSIGN(Lowering::Body body, lowering_.body(*scan_.body, sources_));
    loop_.steps = std::move(body.steps);
    for (size_t s = 0; s < loop_.states.size(); ++s) {
      loop_.states[s].result =
          before_change(body.outputs[static_cast<size_t>(scan_.state_results[s])]);
    }
    for (size_t i = 0; i < scan_.outputs.size(); ++i) {
      place_output(i, body.outputs[static_cast<size_t>(scan_.outputs[i].result)]);
    }
    loop_.skip = scan_.skip;
    if (limited()) loop_.limit = frames_so_far(lowering_, scan_.limit);
    loop_.reset_every_turn = scan_.reset_every_turn;
    // With a limit, iterations are numbered in the order of the stream; without one, in the order
    // in which they run.
    loop_.backward = limited() && !loop_.scanned.empty() && loop_.scanned[0].backward;
    if (!scan_.reset_every_turn) {
      loop_.counter = lowering_.state(sizeof(int64_t));
      writes_.emplace_back(loop_.counter);
    }
    writes_.insert(writes_.end(), body.touched.begin(), body.touched.end());
    lowering_.step(kLoop, std::move(loop_), reads_, writes_);
    return {};
  }

 private:
  bool limited() const { return !(scan_.limit == Dim(0)); }

  Ref state_like(const Operand& operand) {
    return lowering_.state(std::max<int64_t>(1, operand.volume()) * dtype_size(operand.dtype));
  }

  void place_input(size_t i) {
    const Scan::Input& input = scan_.inputs[i];
    const Operand& outer = lowering_.in(static_cast<int>(i));
    reads_.emplace_back(outer);
    if (input.kind == Kind::kFull) {
      sources_.push_back(outer);
      return;
    }
    if (input.kind == Kind::kState) {
      const std::vector<int64_t> shape(outer.shape.begin(), outer.shape.begin() + outer.rank);
      Operand kept = lowering_.scratch(outer.dtype, shape);
      if (!scan_.reset_every_turn) kept.ref = state_like(kept);
      writes_.emplace_back(kept);
      loop_.states.push_back({outer, kept, {}});
      sources_.push_back(kept);
      return;
    }
    LoopInput scanned;
    const int axis = static_cast<int>(input.axis);
    const int64_t chunk = std::abs(input.chunk);
    scanned.slot = {lowering_.slot(), 0};
    scanned.from = outer.ref;
    scanned.chunk_bytes = chunk * outer.step(axis) * dtype_size(outer.dtype);
    scanned.backward = input.chunk < 0;
    if (loop_.scanned.empty()) loop_.iterations = outer.extent(axis) / chunk;
    Operand inner = outer;
    inner.konst = nullptr;
    inner.shape[static_cast<size_t>(axis)] = chunk;
    inner.ref = scanned.slot;
    loop_.scanned.push_back(scanned);
    sources_.push_back(inner);
  }

  /// Return a result of the body before states change: copy it if it is a state's memory.
  Operand before_change(Operand result) {
    result.konst = nullptr;
    const auto is_of = [&](const LoopState& state) {
      return state.kept.ref.buffer == result.ref.buffer;
    };
    if (none_of(loop_.states, is_of)) return result;
    const std::vector<int64_t> shape(result.shape.begin(), result.shape.begin() + result.rank);
    const Operand copy = lowering_.scratch(result.dtype, shape);
    writes_.emplace_back(copy);
    loop_.passed.push_back({result, copy});
    return copy;
  }

  void place_output(size_t i, const Operand& result) {
    const Scan::Output& output = scan_.outputs[i];
    const Operand out = lowering_.make_out(static_cast<int>(i));
    writes_.emplace_back(out);
    reads_.emplace_back(result);
    if (!output.last) {
      const int axis = static_cast<int>(output.axis);
      LoopFullOutput full{result, out, 0, output.chunk < 0};
      full.out.shape[static_cast<size_t>(axis)] = result.extent(axis);
      full.chunk_bytes = result.extent(axis) * out.step(axis) * dtype_size(out.dtype);
      loop_.full.push_back(full);
      return;
    }
    LoopLastOutput last;
    last.out = last.kept = out;
    if (const int state = state_of(scan_, output.result); state >= 0) {
      last.is_state = true;
      last.from = loop_.states[static_cast<size_t>(state)].kept;
    } else {
      last.from = before_change(result);
      last.keeps = limited();
      if (last.keeps) {
        last.kept.ref = state_like(out);
        writes_.emplace_back(last.kept);
      }
    }
    loop_.last.push_back(last);
  }

  const Scan& scan_;
  Lowering& lowering_;
  LoopArgs loop_;
  std::vector<Operand> sources_;
  std::vector<Touched> reads_;
  std::vector<Touched> writes_;
};

}  // namespace

Status lower_scan(const Scan& scan, Lowering& lowering) {
  return LoopLowering(scan, lowering).run();
}

}  // namespace rill::ops
