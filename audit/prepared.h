#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/exec/shared_weights.h"
#include "core/graph/graph.h"

namespace rill::audit {

/// A graph with its symbols bound, prepared, with a session to run it.
struct Ready {
  Graph graph;
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Session> session;
};

/// "B=1, S=40".
std::string bindings_text(const Bindings& bindings);

/// Replace all symbols but the stream symbol of a pulsed graph, then simplify.
/// Errors: those of the graph, with the values in the hint.
Result<Graph> bind_symbols(const Graph& graph, const Bindings& bindings);
/// Let `threads` threads run the steps of a session; 0 means one per core. Errors: kArg, kNoMem.
Status use_threads(int64_t threads, Session* session);
/// Bind symbols, prepare, and make a session. `optimize`: false keeps every node a separate step.
/// `threads`: as for `use_threads`. `weights`: those of other plans of the model; null shares none.
/// `check`: called with the plan before the session takes memory.
/// Errors: kSymbol if symbols stay free; those of `prepare` and `check`.
Result<Ready> make_ready(const Graph& graph, const Bindings& bindings, bool optimize,
                         int64_t threads = 1, SharedWeights* weights = nullptr,
                         const std::function<Status(const Plan&)>& check = nullptr);

/// Copy values into the inputs of a session. Errors: kShape, naming the input.
Status feed(Session* session, std::span<const Tensor> values);
/// Copy the outputs of a session. Errors: kNoMem.
Result<std::vector<Tensor>> outputs_of(const Session& session);
/// Run a whole graph once. Errors: as above; kArg if the model computes an index out of range.
Result<std::vector<Tensor>> run_once(Session* session, std::span<const Tensor> inputs);
/// The same for drawn inputs, from which any index may follow: an operator reads zeros at those out
/// of range, in whole runs and in streams alike.
Result<std::vector<Tensor>> run_drawn(Session* session, std::span<const Tensor> inputs);

}  // namespace rill::audit
