#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnef_loader/build/load_entries.h"

namespace rill::nnef::test {

/// Small operators that replace the op modules in tests: add sub mul max min cast unsqueeze concat
/// reshape slice shape_of unstack pair probe scan.
std::span<const OpModule* const> ops();

/// Return a `.dat` or text file of an archive.
Entry file(std::string_view name, std::string_view text);
Entry tensor_file(std::string_view label, const Tensor& tensor);
Tensor floats(std::vector<int64_t> shape, std::vector<float> values);
Tensor integers(std::vector<int64_t> shape, std::vector<int64_t> values);

/// Return a document of these statements with two inputs, x [2, S] and y [2, S].
/// `results`: names in `-> (...)`.
std::string document(std::string_view statements, std::string_view results = "z",
                     std::string_view head = "");
Result<Graph> load_text(std::string_view text, std::vector<Entry> more = {},
                        const LoadOptions& options = {});
/// As `load_text(document(...))`.
Result<Graph> load_body(std::string_view statements, std::string_view results = "z",
                        std::string_view head = "");

/// Return the value of a constant output. Fails the test if it is not constant.
const Tensor& output_value(const Graph& graph, size_t index = 0);
/// Return the error text, or "loaded".
std::string error_of(const Result<Graph>& result);
/// Return the graph; fails the test if there is none.
Graph loaded(Result<Graph> result);
/// Fail the test unless the error has each of these texts.
void expect_error(const Result<Graph>& result, std::vector<std::string> parts);
/// List nodes as "name:Op", without constants.
std::string node_list(const Graph& graph);

}  // namespace rill::nnef::test
