/// @file
/// Verify.h for C++17: the reports of rill_check and rill_inspect as values that own their texts.
/// Header only; works with -fno-exceptions and -fno-rtti.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "rill/rill.hpp"
#include "rill/verify.h"

namespace rill {
inline namespace abi1 {

/// One mode of running a model, with its result; see rill_check_mode.
struct CheckedMode {
  std::string name;        ///< "pushed in pieces"
  int64_t pulse = 0;       ///< 0: the whole run
  int64_t outputs = 0;     ///< number of compared outputs
  int64_t frames = 0;      ///< compared frames; elements of outputs that do not stream
  bool same_bits = false;  ///< all compared frames have the bits of the whole run
  std::string problem;     ///< empty if nothing differs
  std::string skipped;     ///< why this mode was not run; empty if it was
};

/// Result of `check`.
struct Checked {
  int64_t frames = 0;   ///< of the stream
  int64_t outputs = 0;  ///< number of compared outputs of streams
  std::vector<CheckedMode> modes;  ///< every mode, with its result
  std::optional<Error> error;  ///< why the check failed: a mode that differs, or nothing compared

  /// Return whether all modes are equal to the whole run.
  explicit operator bool() const { return !error; }
};

/// Run a model that is not pulsed on these inputs, one view per input in order, and compare streams
/// of them with that run; `pulses` as in "1,8,16", or empty. If a frame differs, the returned value
/// has `error` set; a returned error explains why nothing ran. Real-time: no.
inline Result<Checked> check(const Model& whole, const std::vector<rill_view>& inputs,
                             const std::string& pulses = "", const std::string& symbol = "S") {
  Checked out;
  rill_check_opts opts = {};
  opts.size = sizeof(opts);
  opts.symbol = symbol.c_str();
  opts.pulses = pulses.empty() ? nullptr : pulses.c_str();
  opts.user = &out;
  opts.mode = [](void* user, const rill_check_mode* mode) {
    static_cast<Checked*>(user)->modes.push_back({mode->name, mode->pulse, mode->outputs,
                                                  mode->frames, mode->same_bits != 0, mode->problem,
                                                  mode->skipped});
  };
  rill_check_report report = {};
  report.size = sizeof(report);
  const rill_status status = rill_check(whole.get(), inputs.data(), inputs.size(), &opts, &report);
  if (status != RILL_OK && (status != RILL_E_STATE || report.modes == 0)) return Error::last();
  if (status != RILL_OK) out.error = Error::last();
  out.frames = report.frames;
  out.outputs = report.outputs;
  return out;
}

/// How a wire streams, and why it lags; see rill_wire_latency.
struct WireLatency {
  std::string node;    ///< name of the node that gives it
  std::string op;      ///< operator of that node
  std::string causes;  ///< causes of its lag; empty for none
  int line = 0;        ///< of the node in graph.nnef; 0: unknown
  int slot = 0;        ///< index of the output of the node
  int axis = 0;        ///< streaming axis
  int64_t pulse = 0;   ///< frames per step
  int64_t delay = 0;   ///< frames that the wire lags behind
  std::optional<int64_t> least_delay;  ///< empty if unknown
  double before = 0;                   ///< latency of the input that lags most
  double after = 0;                    ///< latency of the wire
  int64_t state_bytes = 0;             ///< state of the node in each session
};

/// Latency of an output; see rill_output_latency.
struct OutputLatency {
  std::string name;   ///< name of the output
  int axis = -1;      ///< -1: it does not stream
  int64_t pulse = 0;  ///< frames per step
  int64_t delay = 0;  ///< frames that the output lags behind
  std::optional<int64_t> least_delay;  ///< empty if unknown
  double latency = 0;                  ///< the delay in frames of the first streaming input
  std::vector<size_t> path;            ///< indices of wires, starting at an input
};

/// A candidate of the pulse "auto"; see rill_pulse_choice.
struct PulseChoice {
  bool chosen = false;      ///< this candidate was chosen
  int64_t pulse = 0;        ///< frames of the stream symbol per step
  double delay = 0;         ///< of the output that lags most
  double latency = 0;       ///< time from the first frame of a pulse to its output, in frames
  double step_us = 0;       ///< microseconds, by a cost model of one core
  int64_t state_bytes = 0;  ///< of a session, kept from step to step
  int64_t arena_bytes = 0;  ///< of a session, used during a step
};

/// How a model would stream.
struct Inspected {
  int64_t pulse = 0;        ///< the chosen pulse
  int64_t multiple_of = 0;  ///< legal pulses are its multiples; 0: unknown
  bool late_end = false;    ///< the end may be given after the last frames
  double latency = 0;       ///< of the output that lags most, in frames of the first input
  int64_t state_bytes = 0;  ///< of a session, kept from step to step
  int64_t arena_bytes = 0;  ///< of a session, used during a step
  std::optional<int64_t> longest;      ///< longest stream; empty for no limit
  std::vector<WireLatency> wires;      ///< streaming wires, in the order of the model
  std::vector<OutputLatency> outputs;  ///< all outputs
  std::vector<PulseChoice> choices;    ///< candidates of the pulse "auto"
};

/// Report how late a model is at a pulse ("8", "auto"), and through which wires. The model does not
/// change. `seconds`: time for proofs of least delays; 0: 2; below 0: no proofs. Real-time: no.
inline Result<Inspected> inspect(const Model& whole, const std::string& pulse,
                                 const std::string& symbol = "S", double seconds = 0) {
  static constexpr auto known = [](int64_t value) {
    return value == RILL_UNKNOWN ? std::nullopt : std::optional<int64_t>(value);
  };
  Inspected out;
  rill_inspect_opts opts = {};
  opts.size = sizeof(opts);
  opts.seconds = seconds;
  opts.user = &out;
  opts.wire = [](void* user, const rill_wire_latency* wire) {
    static_cast<Inspected*>(user)->wires.push_back(
        {wire->node, wire->op, wire->causes, wire->line, wire->slot, wire->axis, wire->pulse,
         wire->delay, known(wire->least_delay), wire->before, wire->after, wire->state_bytes});
  };
  opts.output = [](void* user, const rill_output_latency* output) {
    OutputLatency to;
    to.name = output->name;
    to.axis = output->axis;
    if (output->axis >= 0) {
      to.pulse = output->pulse;
      to.delay = output->delay;
      to.least_delay = known(output->least_delay);
      to.latency = output->latency;
      to.path.assign(output->path, output->path + output->path_count);
    }
    static_cast<Inspected*>(user)->outputs.push_back(std::move(to));
  };
  opts.choice = [](void* user, const rill_pulse_choice* choice) {
    static_cast<Inspected*>(user)->choices.push_back(
        {choice->chosen != 0, choice->pulse, choice->delay, choice->latency, choice->step_us,
         choice->state_bytes, choice->arena_bytes});
  };
  rill_inspect_report report = {};
  report.size = sizeof(report);
  if (rill_inspect(whole.get(), symbol.c_str(), pulse.c_str(), &opts, &report) != RILL_OK) {
    return Error::last();
  }
  out.pulse = report.pulse;
  out.multiple_of = report.multiple_of;
  out.late_end = report.late_end != 0;
  out.latency = report.latency;
  out.state_bytes = report.state_bytes;
  out.arena_bytes = report.arena_bytes;
  out.longest = known(report.longest);
  return out;
}

}  // namespace abi1
}  // namespace rill
