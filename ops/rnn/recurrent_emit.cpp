#include <algorithm>
#include <cstdint>
#include <vector>

#include "emit_c/step_writer.h"
#include "emit_c/text.h"
#include "ops/nn/matmul_emit.h"
#include "ops/rnn/recurrent_step.h"

namespace rill::ops {

using emit_c::plus;
using emit_c::StepWriter;

namespace {

constexpr int64_t kBlockFloats = 96;  // sums of a block of units that fit the vector registers

/// A cell: its gates, its states, and its step for one unit. `x[g]` and `h[g]` are the sums of gate
/// g, `old` and `cell` the unit's previous states.
struct Cell {
  int64_t gates;
  bool has_cells;
  const char* step;
};

constexpr Cell kGruCell = {3, false, R"(
      const float r = @sigmoid(x0 + h0), z = @sigmoid(x1 + h1);
      const float n = @tanh(x2 + r * (h2 BIAS));
      next[u + j] = (1.0f - z) * n + z * h[u + j];
)"};
constexpr Cell kLstmCell = {4, true, R"(
      const float next_cell =
          @sigmoid(x1 + h1) * c[u + j] + @sigmoid(x0 + h0) * @tanh(x2 + h2);
      c[u + j] = next_cell;
      next[u + j] = @sigmoid(x3 + h3) * @tanh(next_cell);
)"};
constexpr Cell kTanhCell = {1, false, R"(
      next[u + j] = @tanh(x0 + h0);
)"};
constexpr Cell kReluCell = {1, false, R"(
      next[u + j] = @max_or_second(0.0f, x0 + h0);
)"};

/// The packed weights of a layer, by gate and input.
struct Weights {
  const RecurrentLayer& layer;
  const Cell& cell;
  const float* packed;
  int64_t units;  ///< of a packed block

  /// Return a weight by its row in [b_hn, bias, input, state] of a small layer.
  float small(int64_t row, int64_t unit) const {
    const int64_t rows = 1 + cell.gates * (1 + layer.inputs + layer.hidden);
    return packed[(unit / units * rows + row) * units + unit % units];
  }
  float bias(int64_t gate, int64_t unit) const { return small(1 + gate, unit); }
  float input(int64_t gate, int64_t k, int64_t unit) const {
    return small(1 + cell.gates * (1 + k) + gate, unit);
  }
  float state(int64_t gate, int64_t k, int64_t unit) const {
    if (layer.inputs > 0) return small(1 + cell.gates * (1 + layer.inputs + k) + gate, unit);
    const int64_t row = (unit / units * layer.hidden + k) * cell.gates + gate;
    return packed[row * units + unit % units];
  }
};

/// A block of units; the layout of its sums is [gate][units].
struct Block {
  int64_t first = 0;
  int64_t count = 0;
  int64_t padded = 0;
};

std::vector<Block> blocks_of(const RecurrentLayer& layer, const Cell& cell) {
  std::vector<Block> out;
  const int64_t fit = std::max<int64_t>(8, kBlockFloats / cell.gates / 8 * 8);
  // Blocks have nearly equal sizes: a small last one would have too few sums to hide their latency.
  const int64_t count = (layer.hidden + fit - 1) / fit;
  const int64_t most = (layer.hidden + 8 * count - 1) / (8 * count) * 8;
  for (int64_t unit = 0; unit < layer.hidden; unit += most) {
    const int64_t units = std::min(most, layer.hidden - unit);
    out.push_back({unit, units, emitted_columns(units)});
  }
  return out;
}

/// Return how many units the states hold per lane. A small layer pads its last block with units
/// whose weights and states are zero, so that loops over units use whole vectors.
int64_t lane_units(const RecurrentLayer& layer, const Cell& cell) {
  if (layer.inputs == 0) return layer.hidden;
  const Block last = blocks_of(layer, cell).back();
  return last.first + last.padded;
}

/// Write the step of one block of units over one frame of a lane.
std::string block_function(const RecurrentLayer& layer, const Cell& cell, const Block& block,
                           StepWriter& to) {
  const int64_t sums = cell.gates * block.padded;
  const bool small = layer.inputs > 0;
  std::string text = "static void @NAME(const float *@RESTRICT h, float *@RESTRICT next";
  if (cell.has_cells) text += ", float *@RESTRICT c";
  text += ", const float *@RESTRICT w";
  if (layer.has_bias) text += ", const float *@RESTRICT b";
  if (small) {
    text += ", const float *@RESTRICT x";
  } else {
    for (int64_t gate = 0; gate < cell.gates; ++gate) {
      text += str_cat(", const float *@RESTRICT g", gate);
    }
  }
  text += ", int u) {\n";
  // One array per gate: from one array for all gates, compilers make vectors across gates, whose
  // elements the loop over units would then have to extract.
  const int64_t width = block.padded;
  const auto gates = [&](const auto& statement) {
    std::string out = str_cat("for (int j = 0; j < ", width, "; ++j) {");
    for (int64_t gate = 0; gate < cell.gates; ++gate) out += " " + statement(gate);
    return out + " }\n";
  };
  for (int64_t gate = 0; gate < cell.gates; ++gate) {
    if (small) text += str_cat("  float q", gate, "[", width, "];\n");
    text += str_cat("  float s", gate, "[", width, "];\n");
  }
  if (small) {
    text += "  " + gates([&](int64_t gate) {
              return str_cat("q", gate, "[j] = w[", gate * width, " + j];");
            });
    text += str_cat("  w += ", sums, ";\n  for (int k = 0; k < ", layer.inputs, "; ++k, w += ",
                    sums, ") {\n    const float v = x[k];\n    ");
    text += gates([&](int64_t gate) {
      return str_cat("q", gate, "[j] = @madd(v, w[", gate * width, " + j], q", gate, "[j]);");
    });
    text += "  }\n";
  }
  text += "  " + gates([&](int64_t gate) { return str_cat("s", gate, "[j] = 0.0f;"); });
  text += str_cat("  @UNROLL\n  for (int k = 0; k < ", layer.hidden,
                  "; ++k) {\n    const float v = h[k];\n    ");
  text += gates([&](int64_t gate) {
    return str_cat("s", gate, "[j] = @madd(v, w[k * ", sums, " + ", gate * width, " + j], s", gate,
                   "[j]);");
  });
  text += str_cat("  }\n  for (int j = 0; j < ", small ? width : block.count, "; ++j) {\n");
  for (int64_t gate = 0; gate < cell.gates; ++gate) {
    text += str_cat("      const float h", gate, " = s", gate, "[j], x", gate, " = ");
    text += small ? str_cat("q", gate, "[j];\n") : str_cat("g", gate, "[u + j];\n");
  }
  std::string step = cell.step + 1;
  const size_t bias = step.find(" BIAS");
  if (bias != std::string::npos) step.replace(bias, 5, layer.has_bias ? " + b[j]" : "");
  return to.function(text + step + "  }\n}\n");
}

std::vector<float> block_weights(const Weights& weights, const Block& block) {
  std::vector<float> out;
  const auto row = [&](const auto& value) {
    for (int64_t gate = 0; gate < weights.cell.gates; ++gate) {
      for (int64_t j = 0; j < block.padded; ++j) {
        out.push_back(j < block.count ? value(gate, block.first + j) : 0.0F);
      }
    }
  };
  if (weights.layer.inputs > 0) {
    row([&](int64_t gate, int64_t unit) { return weights.bias(gate, unit); });
    for (int64_t k = 0; k < weights.layer.inputs; ++k) {
      row([&](int64_t gate, int64_t unit) { return weights.input(gate, k, unit); });
    }
  }
  for (int64_t k = 0; k < weights.layer.hidden; ++k) {
    row([&](int64_t gate, int64_t unit) { return weights.state(gate, k, unit); });
  }
  return out;
}

/// Return whether a layer runs over all frames of every step and starts with a constant state.
bool is_plain_stream(const RecurrentLayer& layer, const Cell& cell, const StepWriter& to) {
  return !layer.limit && !layer.reset_every_turn && !layer.backward && layer.skip == 0 &&
         to.contents(layer.first_h) != nullptr &&
         (!cell.has_cells || to.contents(layer.first_c) != nullptr);
}

/// Write the initial value of a state of all lanes; `first` has one row per lane.
void begin_state(const std::string& name, const RecurrentLayer& layer, const float* first,
                 int64_t first_lane, int64_t units, StepWriter& to) {
  to.member(str_cat("float ", name, "[", layer.lanes * units, "];"));
  for (int64_t lane = 0; lane < layer.lanes; ++lane) {
    const float* const row = first + lane * first_lane;
    if (std::all_of(row, row + layer.hidden, [](float v) { return v == 0.0F; })) continue;
    to.reset_line(str_cat("memcpy(", plus("s->" + name, lane * units), ", ",
                          to.constant({row, static_cast<size_t>(layer.hidden)}), ", ",
                          4 * layer.hidden, ");"));
  }
}

/// The names of a layer's states.
struct Names {
  std::string h, c;
};

/// Write one frame of a lane. `frame` is its number, or "" if there is only one.
std::string frame_lines(const Weights& weights, const Names& names, int64_t lane,
                        const std::string& frame, StepWriter& to) {
  const RecurrentLayer& layer = weights.layer;
  const Cell& cell = weights.cell;
  const int64_t units = lane_units(layer, cell);
  const int64_t at = lane * units;
  const std::string h = plus("s->" + names.h, at);
  std::string out = str_cat("float next[", units, "]; ");
  for (const Block& block : blocks_of(layer, cell)) {
    out += block_function(layer, cell, block, to) + "(" + h + ", next";
    if (cell.has_cells) out += ", " + plus("s->" + names.c, at);
    out += ", " + to.constant(block_weights(weights, block));
    if (layer.has_bias) {
      std::vector<float> bias(static_cast<size_t>(block.padded));
      const float* const own = layer.inputs > 0 ? nullptr : to.contents(layer.bias);
      for (int64_t j = 0; j < block.count; ++j) {
        const int64_t unit = block.first + j;
        bias[static_cast<size_t>(j)] = own != nullptr ? own[unit] : weights.small(0, unit);
      }
      out += ", " + to.constant(bias);
    }
    const int64_t places = layer.inputs > 0 ? 1 : cell.gates;
    for (int64_t gate = 0; gate < places; ++gate) {
      out +=
          ", " + to.floats(layer.x[gate], lane * layer.x_lane) + emit_c::times(frame, layer.x_step);
    }
    out += str_cat(", ", block.first, "); ");
  }
  out += str_cat("memcpy(", h, ", next, sizeof next); ");
  if (layer.has_y) {
    out += str_cat("memcpy(", to.floats(layer.y, lane * layer.y_lane),
                   emit_c::times(frame, layer.y_step), ", next, ", 4 * layer.hidden, "); ");
  }
  return out;
}

/// Write the copy of the last states to outputs.
void give_states(const RecurrentLayer& layer, const Names& names, int64_t lane, int64_t units,
                 StepWriter& to) {
  const auto give = [&](bool given, const Ref& ref, int64_t stride, const std::string& name) {
    if (!given) return;
    to.line(str_cat("memcpy(", to.floats(ref, lane * stride), ", ",
                    plus("s->" + name, lane * units), ", ", 4 * layer.hidden, ");"));
  };
  give(layer.has_last_h, layer.last_h, layer.last_h_lane, names.h);
  give(layer.has_last_c, layer.last_c, layer.last_c_lane, names.c);
}

/// Write the lines that find the live frames of a step, [from, to), and initialise the states, as
/// `begin_frames` of recurrent_step.cpp does.
Status begin_frames(const RecurrentLayer& layer, const Cell& cell, const Names& names,
                    StepWriter& to) {
  const int64_t units = lane_units(layer, cell);
  const std::string counter = str_cat("n", to.number());
  std::string first = "0";
  if (layer.reset_every_turn) {
    if (layer.limit) first = to.position(layer.steps);
  } else {
    to.member("int64_t " + counter + ";");
    first = "s->" + counter;
  }
  to.line("{ const int64_t first = " + first + ";");
  to.line(str_cat("const int64_t skipped = @at_most(@at_least(", layer.skip, " - first, 0), ",
                  layer.steps, ");"));
  if (layer.limit) {
    RILL_ASSIGN(const std::string limit, to.frames_now(*layer.limit));
    to.line(str_cat("const int64_t from = skipped, to = @at_least(skipped, @at_most(", limit,
                    " - first, ", layer.steps, "));"));
  } else if (layer.backward) {
    to.line(str_cat("const int64_t from = 0, to = ", layer.steps, " - skipped;"));
  } else {
    to.line(str_cat("const int64_t from = skipped, to = ", layer.steps, ";"));
  }
  if (!layer.reset_every_turn) {
    to.line(str_cat("s->", counter, " = first + ", layer.steps, ";"));
    to.line(str_cat("if (first <= ", layer.skip, ") {"));
  }
  for (int64_t lane = 0; lane < layer.lanes; ++lane) {
    const auto begin = [&](const std::string& name, const Ref& ref, int64_t stride) {
      to.line(str_cat("memcpy(", plus("s->" + name, lane * units), ", ",
                      to.floats(ref, lane * stride), ", ", 4 * layer.hidden, ");"));
    };
    begin(names.h, layer.first_h, layer.first_h_lane);
    if (cell.has_cells) begin(names.c, layer.first_c, layer.first_c_lane);
  }
  if (!layer.reset_every_turn) to.line("}");
  if (!layer.has_y) return {};
  for (int64_t lane = 0; lane < layer.lanes; ++lane) {
    const std::string y =
        to.floats(layer.y, lane * layer.y_lane) + emit_c::times("t", layer.y_step);
    const std::string clear = str_cat("memset(", y, ", 0, ", 4 * layer.hidden, ");");
    to.line("for (int64_t t = 0; t < from; ++t) " + clear);
    to.line(str_cat("for (int64_t t = to; t < ", layer.steps, "; ++t) ", clear));
  }
  return {};
}

Status write_layer(const RecurrentLayer& layer, const Cell& cell, int64_t units, StepWriter& to) {
  if (to.contents(layer.weights) == nullptr ||
      (layer.has_bias && layer.inputs == 0 && to.contents(layer.bias) == nullptr)) {
    return fail(Code::kUnsupported,
                "a recurrent layer whose weights the stream computes cannot be emitted as C");
  }
  if (layer.lanes * layer.hidden == 0) return {};
  for (const char* name : {"sigmoid", "tanh", "max_or_second"}) {
    if (std::string_view(cell.step).find(str_cat("@", name, "(")) != std::string_view::npos) {
      to.math(name);
    }
  }
  const Names names{str_cat("h", to.number()), str_cat("c", to.number())};
  const Weights weights{layer, cell, to.contents(layer.weights), units};
  const int64_t kept = lane_units(layer, cell);
  const bool plain = is_plain_stream(layer, cell, to);
  if (plain) {
    begin_state(names.h, layer, to.contents(layer.first_h), layer.first_h_lane, kept, to);
    if (cell.has_cells) {
      begin_state(names.c, layer, to.contents(layer.first_c), layer.first_c_lane, kept, to);
    }
  } else {
    to.member(str_cat("float ", names.h, "[", layer.lanes * kept, "];"));
    if (cell.has_cells) to.member(str_cat("float ", names.c, "[", layer.lanes * kept, "];"));
    RILL_TRY(begin_frames(layer, cell, names, to));
  }
  for (int64_t lane = 0; lane < layer.lanes; ++lane) {
    std::string head = "{ ";
    if (!plain) {
      head = layer.backward ? "for (int64_t t = to - 1; t >= from; --t) { "
                            : "for (int64_t t = from; t < to; ++t) { ";
    } else if (layer.steps != 1) {
      head = str_cat("for (int t = 0; t < ", layer.steps, "; ++t) { ");
    }
    const std::string frame = plain && layer.steps == 1 ? "" : "t";
    to.line(head + frame_lines(weights, names, lane, frame, to) + "}");
    give_states(layer, names, lane, kept, to);
  }
  if (!plain) to.line("}");
  return {};
}

Status write_gru(const GruArgs& args, StepWriter& to) {
  return write_layer(args.layer, kGruCell, args.kernel->lanes, to);
}
Status write_lstm(const LstmArgs& args, StepWriter& to) {
  return write_layer(args.layer, kLstmCell, args.kernel->lanes, to);
}
Status write_small_gru(const SmallGruArgs& args, StepWriter& to) {
  return write_layer(args.layer, kGruCell, args.kernel->lanes, to);
}
Status write_small_lstm(const SmallLstmArgs& args, StepWriter& to) {
  return write_layer(args.layer, kLstmCell, args.kernel->lanes, to);
}
Status write_rnn(const RnnArgs& args, StepWriter& to) {
  const int64_t lanes = args.kernel->lanes;
  return write_layer(args.layer, args.layer.relu ? kReluCell : kTanhCell,
                     lanes > 1 ? kernels::kRnnBlockVecs * lanes : lanes, to);
}

}  // namespace

extern const emit_c::StepText gru_text;
extern const emit_c::StepText lstm_text;
extern const emit_c::StepText rnn_text;
extern const emit_c::StepText small_gru_text;
extern const emit_c::StepText small_lstm_text;
const emit_c::StepText gru_text = emit_c::step_text<GruArgs, write_gru>(kGru);
const emit_c::StepText lstm_text = emit_c::step_text<LstmArgs, write_lstm>(kLstm);
const emit_c::StepText rnn_text = emit_c::step_text<RnnArgs, write_rnn>(kRnn);
const emit_c::StepText small_gru_text = emit_c::step_text<SmallGruArgs, write_small_gru>(kSmallGru);
const emit_c::StepText small_lstm_text =
    emit_c::step_text<SmallLstmArgs, write_small_lstm>(kSmallLstm);

}  // namespace rill::ops
