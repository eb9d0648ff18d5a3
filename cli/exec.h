#pragma once

#include <optional>
#include <span>
#include <vector>

#include "audit/drive.h"
#include "audit/prepared.h"
#include "cli/options.h"
#include "cli/inputs.h"
#include "cli/pipeline.h"
#include "cli/reference.h"
#include "plan_file/limits.h"

namespace rill::cli {

using audit::bind_symbols;
using audit::feed;
using audit::outputs_of;
using audit::Ready;
using audit::run_drawn;
using audit::run_once;
using audit::use_threads;

/// Return the graph that runs, optimised on request.
Result<Graph> final_graph(const CommonOptions& common, const Graph& graph);
/// Return whether this command line runs optimised graphs.
bool optimizes(const CommonOptions& common);

/// How a command prepares graphs.
struct PlanOptions {
  bool optimize = true;
  int64_t threads = 1;  ///< as for `use_threads`
  plan_file::Limits limits;  ///< 0: none
};

/// Return the options of plans that the command line sets.
PlanOptions plan_options(const CommonOptions& common);
/// As `audit::make_ready`, within limits; errors name the option that binds symbols.
/// Errors: kNoMem for a plan beyond a limit.
Result<Ready> make_ready(const Graph& graph, const Bindings& bindings,
                         const PlanOptions& options);

/// A graph whose extents are numbers, and the values of its inputs.
struct Shaped {
  Graph graph;
  std::vector<Tensor> inputs;
};

/// Fix the extents of a bound graph that depend on the values of its inputs: small integer inputs
/// become constants; if that is not enough, all inputs. Nothing if it has no such extents.
/// Errors: kUnsupported if extents stay open.
Result<std::optional<Shaped>> shaped_by_values(const Graph& bound, std::span<const Tensor> inputs);
using audit::run_stream;
using audit::StreamOptions;
using audit::StreamResult;
/// Show the progress of a stream on the terminal, if the options request it.
void show_progress(StreamOptions* options);

/// Compare the outputs of a stream to the whole run's frames. If the stream continues, or its
/// length is uncertain, only the frames that both have count.
Status check_stream(const Reference& reference, const Graph& graph, const Plan& plan,
                    const StreamResult& result, bool open_end, const Log& log);

/// Return the value of the stream symbol for these inputs of a plan; 0 if none streams.
int64_t stream_frames(const Plan& plan, std::span<const Tensor> inputs);

/// Cut streaming inputs to whole pulses.
Status drop_partial_pulses(const Plan& plan, std::vector<Tensor>* inputs);

}  // namespace rill::cli
