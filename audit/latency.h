#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/exec/plan.h"
#include "pulse/pulse.h"

namespace rill::audit {

/// A wire of the whole model. Latencies are in frames of the first input that streams.
struct WireLatency {
  pulse::Wire wire;
  double before = 0;  ///< the latency of the input that lags most
  double after = 0;   ///< the latency of the wire
  std::optional<int64_t> least;  ///< proven minimum of the wire's delay at this pulse
  double lost = 0;               ///< latency beyond the minimum, by this node or upstream ones
  double loses = 0;              ///< latency beyond the minimum, by this node alone
  int64_t state_bytes = 0;
  /// The reasons why the node delays its input, and the inputs that wait for the latest one.
  std::vector<std::string> causes;

  double added() const { return after - before; }
};

struct OutputLatency {
  std::string name;
  PlanStream stream;
  double latency = 0;     ///< in frames of the first input that streams
  std::vector<int> path;  ///< the slowest path from the input to the output; indices of wires
  std::optional<int64_t> least;  ///< proven minimum of the delay
  double least_latency = 0;      ///< the minimum in frames of that input
  std::vector<int> losing;       ///< upstream wires whose nodes lose the difference
};

/// A longer pulse with which the model waits once for a chunk of frames, not once per layer.
struct ChunkLatency {
  int64_t pulse = 0;
  double latency = 0;  ///< with pushes of the shorter pulse, in frames of the stream symbol
};

/// Streaming of a pulsed model, and why it lags.
struct Latency {
  std::shared_ptr<const Plan> plan;  ///< of the pulsed model, with `others` bound
  Bindings others;                   ///< symbols other than the stream's, bound to 1
  int64_t pulse_multiple = 0;        ///< legal pulses are the multiples of it; 0: unknown
  std::vector<WireLatency> wires;    ///< in the order of the whole graph
  std::vector<OutputLatency> outputs;
  std::optional<ChunkLatency> chunk;  ///< if it has less latency
  std::map<std::string, int64_t> other_states;  ///< of nodes without a wire in the whole model

  /// Return the wires on the slowest paths that add latency, the most expensive first.
  std::vector<const WireLatency*> expensive() const;
};

/// Return how a pulsed graph streams. `whole`: the graph that it was made of, or null if
/// unavailable: then legal pulses, slowest paths and least delays are unknown. `report`: the report
/// of `pulsify`. `options`: its options; the pulse does not matter. `most_seconds`: of wall clock,
/// for proofs of least delays; see `pulse::least_delays`. Errors: those of `prepare`; kInternal if
/// an output precedes its dependencies.
Result<Latency> latency_of(const Graph* whole, const Graph& pulsed, const pulse::Report& report,
                           const pulse::Options& options, double most_seconds);

}  // namespace rill::audit
