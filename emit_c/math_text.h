#pragma once

#include <span>
#include <string_view>

namespace rill::emit_c {

/// A function of emitted C that computes as kernels/math/functions.h does, bit for bit. '@' stands
/// for the prefix of names; `needs` are names of earlier pieces, with spaces between.
struct MathPiece {
  std::string_view name;
  std::string_view needs;
  std::string_view text;
};

/// Return all pieces, each after the pieces that it uses.
std::span<const MathPiece> math_pieces();

}  // namespace rill::emit_c
