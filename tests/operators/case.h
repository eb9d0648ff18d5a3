#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::test {

/// A tensor of a case: an input of its graph, or a weight.
struct Operand {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::string> shape;  ///< numbers and expressions in S
  double low = -2;
  double high = 2;
};

/// A small graph for the property tests; tests/operators/README.md describes the format.
struct Case {
  std::string name;
  std::string file;
  int line = 0;
  std::vector<Operand> inputs;
  std::vector<Operand> added;  ///< inputs that operators add to the model
  std::vector<Operand> weights;
  std::string outputs = "y";
  std::string statements;
  std::string fragments;
  std::string quant;
  std::string assertions;
  std::vector<int64_t> lengths;  ///< values of S; empty if the graph has none
  std::vector<int64_t> pulses;   ///< empty if the graph is refused
  std::string refusal;           ///< part of the refusal that pulsing must give
  bool pulsed = false;           ///< whether the graph is already pulsed
  bool kept = false;             ///< whether a run continues from earlier ones, like a cache

  std::string text() const;
};

/// Read all cases of tests/operators/cases. An unreadable file becomes a case named after its
/// error.
std::vector<Case> all_cases();

/// Load the graph of a case, with noise as weights.
Result<Graph> load_case(const Case& a_case);
/// Make the inputs of a graph from the ranges of the case; `bindings` must bind S.
Result<std::vector<Tensor>> case_inputs(const Case& a_case, const Graph& graph,
                                        const Bindings& bindings, uint64_t seed);

inline void PrintTo(const Case& a_case, std::ostream* out) {
  *out << a_case.file << ":" << a_case.line;
}

}  // namespace rill::test
