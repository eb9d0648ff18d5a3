#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "audit/values.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/graph/graph.h"
#include "pulse/pulse.h"

namespace rill::test {

/// Put statements that read `x` and define `y` into a document with one input.
/// `shape`: the shape of x, as in "1, 2, S". `fragments`: loop bodies.
std::string document(const std::string& shape, const std::string& statements,
                     const std::string& results = "y", const std::string& fragments = "");
Result<Graph> load_text(const std::string& text);

/// The graph with S bound, prepared for a single run.
class WholeRun {
 public:
  /// Errors: the graph is undefined for streams of that length.
  static Result<WholeRun> make(const Graph& graph, int64_t length);
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);
  const Plan& plan() const { return session_->plan(); }

 private:
  std::unique_ptr<Session> session_;
};

/// The graph, pulsed and prepared.
class StreamedRun {
 public:
  static Result<StreamedRun> make(const Graph& graph, int64_t pulse);
  static Result<StreamedRun> make(const Graph& graph, const pulse::Options& options);
  /// Return the same streams through another pulsed graph.
  Result<StreamedRun> through(Graph pulsed) const;
  /// Return the same streams after writing and reading back the pulsed graph.
  Result<StreamedRun> reloaded() const;
  /// Reset, stream the inputs with NaN after their ends, and step until every frame is out. Return
  /// the valid frames of each output.
  /// Errors: kSymbol if the length of an output is unknown.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, int64_t length);
  const pulse::Stream& output(size_t index = 0) const { return report_.outputs[index]; }
  const pulse::Report& report() const { return report_; }
  const Graph& graph() const { return graph_; }
  Session& session() { return *session_; }

 private:
  pulse::Report report_;
  Graph graph_;
  std::unique_ptr<Session> session_;
};

/// Make the inputs of a graph for streams of `length`: noise of a roughly normal distribution, or
/// integers for integer types.
std::vector<Tensor> noise_inputs(const Graph& graph, int64_t length, uint64_t seed);

using audit::difference;

/// Return the fault of the stream of one length; empty if it gives the frames of the whole run, or
/// if the whole graph is undefined for that length.
std::string stream_problem(const Graph& graph, StreamedRun* streamed, int64_t length,
                           double tolerance = 0);

/// Return whether the stream is too short for the whole graph: a wire would have a negative number
/// of frames, or it has none and the outputs consist of padding alone.
bool is_too_short(const Graph& graph, int64_t length);

}  // namespace rill::test
