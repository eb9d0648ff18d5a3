#pragma once

#include <string>
#include <vector>

#include "cli/notes.h"

namespace rill::cli {

/// Print the totals: live memory, work by kind, time by operator and by name.
void print_memory_summary(const Notes& notes);
void print_cost_summary(const Graph& graph, const Notes& notes);
void print_profile_summary(const Graph& graph, const Notes& notes);
/// Print the matmuls of a graph, including those of loop bodies: how many, and with which extents.
void print_products(const Graph& graph);

/// Fail unless the totals equal those of `--assert-cost`: "FMA(F32)=2060448,Params(F32)=1024".
/// Moved bytes do not count.
Status check_cost(const std::string& wanted, const Graph& graph, const Notes& notes);

/// Return the columns to the left of a node: one text per line, each `margin_width` wide.
std::vector<std::string> margin_lines(const Notes& notes, const NodeNotes& node);
size_t margin_width(const Notes& notes);
/// Return a time per iteration as text: "0.033 ms/i".
std::string time_text(double seconds);

}  // namespace rill::cli
