#include "audit/prepared.h"

#include <algorithm>
#include <thread>

#include "audit/drive.h"
#include "audit/values.h"
#include "core/exec/workers.h"
#include "core/optim/optim.h"
#include "core/run/index_step.h"

namespace rill::audit {

std::string bindings_text(const Bindings& bindings) {
  std::string out;
  for (const auto& [symbol, value] : bindings) {
    out += str_cat(out.empty() ? "" : ", ", symbol, "=", value);
  }
  return out;
}

Result<Graph> bind_symbols(const Graph& graph, const Bindings& bindings) {
  const std::string stream_symbol = graph.streaming ? graph.streaming->symbol() : std::string();
  Graph out = graph;
  for (const auto& [symbol, value] : bindings) {
    if (symbol == stream_symbol) continue;
    auto next = out.with_symbol(symbol, Dim(value));
    if (!next.ok()) {
      return next.take_status().hint(str_cat("This is with ", bindings_text(bindings)));
    }
    out = std::move(next).value();
  }
  auto simple = declutter(out);
  if (!simple.ok()) {
    return simple.take_status().hint(str_cat("This is with ", bindings_text(bindings)));
  }
  return simple;
}

Status use_threads(int64_t threads, Session* session) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  if (threads == 1) return {};
  RILL_ASSIGN(auto pool, make_pool(static_cast<uint32_t>(std::min<int64_t>(threads, UINT32_MAX))));
  return session->use_threads(std::move(pool));
}

Result<Ready> make_ready(const Graph& graph, const Bindings& bindings, bool optimize,
                         int64_t threads, SharedWeights* weights,
                         const std::function<Status(const Plan&)>& check) {
  Ready out;
  RILL_ASSIGN(out.graph, bind_symbols(graph, bindings));
  PrepareOptions options;
  options.optimize = optimize;
  RILL_ASSIGN(out.plan, prepare_sharing(weights, out.graph, options));
  if (check) RILL_TRY(check(*out.plan));
  RILL_ASSIGN(out.session, Session::make(out.plan));
  RILL_TRY(use_threads(threads, out.session.get()));
  return out;
}

Status feed(Session* session, std::span<const Tensor> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    RILL_TRY(check_fit(session->plan().inputs[i], values[i], -1));
    copy_view(values[i].view(), session->input(i));
  }
  return {};
}

Result<std::vector<Tensor>> outputs_of(const Session& session) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < session.plan().outputs.size(); ++i) {
    RILL_ASSIGN(Tensor value, copy_of(session.output(i)));
    out.push_back(std::move(value));
  }
  return out;
}

Result<std::vector<Tensor>> run_once(Session* session, std::span<const Tensor> inputs) {
  RILL_TRY(feed(session, inputs));
  session->step();
  RILL_TRY(check_computed_indices(*session).status());
  return outputs_of(*session);
}

Result<std::vector<Tensor>> run_drawn(Session* session, std::span<const Tensor> inputs) {
  RILL_TRY(feed(session, inputs));
  session->step();
  return outputs_of(*session);
}

}  // namespace rill::audit
