#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/onnx.h"

namespace rill::ops {

/// The recurrent layers of ONNX.
enum class CellKind : uint8_t { kLstm, kGru, kPlain };

inline int64_t gates_of(CellKind kind) {
  return kind == CellKind::kLstm ? 4 : kind == CellKind::kGru ? 3 : 1;
}
std::string_view cell_name(CellKind kind);

/// A function of one value, with its parameters: "Tanh", "LeakyRelu" and its alpha.
struct Activation {
  std::string name;
  float alpha = 0.0F;
  float beta = 0.0F;
};

/// The attributes of the cell.
struct CellForm {
  std::vector<Activation> activations;  ///< those of the gates, direction by direction
  float clip = 0.0F;                    ///< limit of the activations' inputs, if above 0
  bool input_forget = false;            ///< LSTM: the forget gate is 1 minus the input gate
  bool linear_before_reset = false;     ///< GRU: the reset gate multiplies h W, not h
  bool quantised = false;  ///< LSTM: h is quantised to 8 bits over its range, filters are integers
};

/// Read the attributes. Errors: kUnsupported for unknown functions, kArg for too few or too many.
Result<CellForm> cell_form(OnnxCtx& ctx, CellKind kind, int64_t directions);

/// Make the body of the loop: one step of one direction.
/// Inputs: per gate the projected input [1, B, H]; per gate a filter [H, H]; for a GRU that is
/// linear before its reset the bias of the new value's product; for a quantised LSTM the scale of
/// each filter; three peepholes of an LSTM if there are any; h; and c. Gates have ONNX's order:
/// LSTM i, o, f, c; GRU z, r, h.
/// Outputs: the next h, and c.
/// Source: ONNX, `LSTM`, `GRU`, `RNN`.
Result<Graph> cell_body(CellKind kind, const CellForm& form, int64_t direction, bool peepholes,
                        const Facts& inputs);

}  // namespace rill::ops
