#pragma once

// Shared helpers for the tests of operator modules: tensors, graphs from NNEF text, and runs whole
// and as streams.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec/plan.h"
#include "core/graph/graph.h"

namespace rill::ops::test {

Tensor f32(std::vector<int64_t> shape, const std::vector<float>& values);
Tensor i64(std::vector<int64_t> shape, const std::vector<int64_t>& values);
Tensor boolean(std::vector<int64_t> shape, const std::vector<int>& values);
/// Make a tensor of any type from numbers, by casting.
Tensor typed(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values);
/// Make a tensor of random f32 in [-2, 2), the same for the same seed.
Tensor random_f32(uint32_t seed, std::vector<int64_t> shape);
/// Prepare a graph, and return the bytes of the constants that its plan holds.
int64_t weight_bytes(const Graph& graph);

/// An input of a graph in text: "x = tract_core_external(shape = [2, S], datum_type = 'f32');".
struct Input {
  std::string name;
  std::string shape;
  std::string dtype = "f32";
};

/// Load a graph from its inputs, its statements and the names of its results.
Result<Graph> load(const std::vector<Input>& inputs, std::string_view statements,
                   std::string_view results = "y", std::string_view extensions = "");
/// As above; a failure fails the test and returns an empty graph.
Graph graph_of(const std::vector<Input>& inputs, std::string_view statements,
               std::string_view results = "y", std::string_view extensions = "");

/// Load the text of a whole graph file.
Result<Graph> load_text(std::string_view graph);
/// Expect that statements on these inputs fail to load, with this code, and these words in the
/// message.
void expect_load_error(const std::vector<Input>& inputs, std::string_view statements, Code code,
                       std::string_view words);

/// Infer and evaluate one op.
Result<std::vector<Tensor>> eval(const Op& op, const std::vector<Tensor>& inputs);
/// Prepare and run a graph whose symbols are bound by the shapes of the inputs. `weights`: the
/// formats of quantised weights, if any.
Result<std::vector<Tensor>> run(const Graph& graph, const std::vector<Tensor>& inputs,
                                bool optimize = true, WeightChoice* weights = nullptr);

/// Run one op in a plan with its inputs in every physical order of their axes, and expect the bits
/// of `eval`.
void expect_every_layout(const OpPtr& op, const std::vector<Tensor>& inputs);

/// Print with all values, for messages.
std::string text(const Tensor& tensor);
/// Expect the same bits, NaN equal to NaN.
void expect_same(const Tensor& got, const Tensor& want);
/// Expect values within `atol + rtol * |want|`.
void expect_near(const Tensor& got, const Tensor& want, double atol, double rtol);

/// Write a graph to text, both unchanged and simplified, read it back, and expect the same outputs.
void expect_written_and_read(const Graph& graph, const std::vector<Tensor>& inputs);

/// Stream a graph with one input and one output: with every pulse in the list, for every length.
/// Expect the frames of the whole run, bit for bit. Input after the last frame is NaN.
void expect_streams(const Graph& graph, int axis, const std::vector<int64_t>& pulses,
                    const std::vector<int64_t>& lengths, std::vector<int64_t> delays = {});
/// Expect the pulsifier to refuse, with these words in its message.
void expect_refused(const Graph& graph, int64_t pulse, std::string_view words);

}  // namespace rill::ops::test
