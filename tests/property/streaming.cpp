#include "tests/property/streaming.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "audit/drive.h"
#include "core/optim/optim.h"
#include "core/tensor/frames.h"
#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"

namespace rill::test {

std::string document(const std::string& shape, const std::string& statements,
                     const std::string& results, const std::string& fragments) {
  return str_cat("version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n",
                 fragments, "graph network(x) -> (", results,
                 ")\n{\n  x = tract_core_external(shape = [", shape, "], datum_type = 'f32');\n",
                 statements, "}\n");
}

Result<Graph> load_text(const std::string& text) {
  nnef::Entry entry;
  entry.name = "graph.nnef";
  entry.bytes.resize(text.size());
  std::memcpy(entry.bytes.data(), text.data(), text.size());
  return nnef::load_entries({entry}, ops::op_table());
}

Result<WholeRun> WholeRun::make(const Graph& graph, int64_t length) {
  RILL_ASSIGN(const Graph loaded, declutter(graph));
  RILL_ASSIGN(const Graph bound, loaded.with_symbol("S", Dim(length)));
  RILL_ASSIGN(const Graph simple, declutter(bound));
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(simple));
  WholeRun out;
  RILL_ASSIGN(out.session_, Session::make(plan));
  return out;
}

std::vector<Tensor> WholeRun::run(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) copy_view(inputs[i].view(), session_->input(i));
  session_->step();
  std::vector<Tensor> out;
  for (size_t i = 0; i < plan().outputs.size(); ++i)
    out.push_back(std::move(audit::copy_of(session_->output(i))).value());
  return out;
}

Result<StreamedRun> StreamedRun::make(const Graph& graph, int64_t pulse) {
  pulse::Options options;
  options.pulse = Dim(pulse);
  return make(graph, options);
}

Result<StreamedRun> StreamedRun::make(const Graph& graph, const pulse::Options& options) {
  StreamedRun out;
  RILL_ASSIGN(out.graph_, pulse::pulsify(graph, options, &out.report_));
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(out.graph_));
  RILL_ASSIGN(out.session_, Session::make(plan));
  return out;
}

Result<StreamedRun> StreamedRun::through(Graph pulsed) const {
  StreamedRun out;
  out.report_ = report_;
  out.graph_ = std::move(pulsed);
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(out.graph_));
  RILL_ASSIGN(out.session_, Session::make(plan));
  return out;
}

Result<StreamedRun> StreamedRun::reloaded() const {
  const auto path = std::filesystem::temp_directory_path() /
                    str_cat("rill_reloaded_", static_cast<int64_t>(getpid()), ".nnef.tar");
  nnef::SaveOptions options;
  options.read_back = ops::op_table();
  RILL_TRY(nnef::save(graph_, path.string(), nnef::Container::kTar, options));
  auto loaded = nnef::load(path.string(), ops::op_table());
  std::filesystem::remove(path);
  if (!loaded.ok()) return loaded.error();
  RILL_ASSIGN(Graph simple, declutter(*loaded));
  return through(std::move(simple));
}

Result<std::vector<Tensor>> StreamedRun::run(const std::vector<Tensor>& inputs, int64_t length) {
  audit::StreamOptions options;
  options.nan_filler = true;
  options.ask_session = true;
  RILL_ASSIGN(audit::StreamResult out,
              audit::run_stream(session_.get(), inputs, length, options));
  for (size_t i = 0; i < out.outputs.size(); ++i) {
    if (out.exact_length[i]) continue;
    return fail(Code::kSymbol, "length of ", session_->plan().outputs[i].name, " unknown");
  }
  return std::move(out.outputs);
}

std::vector<Tensor> noise_inputs(const Graph& graph, int64_t length, uint64_t seed) {
  audit::Draw draw(seed);
  return std::move(audit::noise_inputs(graph, "S", length, &draw)).value();
}

std::string stream_problem(const Graph& graph, StreamedRun* streamed, int64_t length,
                           double tolerance) {
  const std::vector<Tensor> inputs = noise_inputs(graph, length, static_cast<uint64_t>(length));
  auto whole = WholeRun::make(graph, length);
  // The graph is undefined for that length, such as a U-Net for odd ones: nothing to compare.
  if (!whole.ok() || !streamed->session().check_length(length).ok()) return {};
  auto frames = streamed->run(inputs, length);
  if (!frames.ok()) return frames.error().to_string();
  const std::vector<Tensor> expected = whole->run(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string found = difference((*frames)[i], expected[i], tolerance);
    if (!found.empty()) return str_cat("output ", i, ": ", found);
  }
  return {};
}

bool is_too_short(const Graph& graph, int64_t length) {
  const auto least_extent = [&](const Fact& fact) {
    int64_t least = 1;
    for (const Dim& dim : fact.shape) {
      least = std::min(least, dim.eval({{"S", length}}).value_or(-1));
    }
    return least;
  };
  int64_t least = 1;
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) least = std::min(least, least_extent(fact));
  }
  const bool gives_frames =
      std::any_of(graph.outputs.begin(), graph.outputs.end(),
                  [&](OutletId output) { return least_extent(graph.fact(output)) > 0; });
  return least < 0 || (least == 0 && gives_frames);
}

}  // namespace rill::test
