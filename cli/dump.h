#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rill::cli {

/// Files that `dump` writes a model to.
struct WriteOptions {
  bool nnef_deterministic = false;  ///< omit an audit's figures: they depend on the machine
  std::string nnef;
  std::string nnef_tar;
  std::string nnef_dir;
  std::string nnef_graph;
  std::string output_name;
};

/// Options of `dump`.
struct DumpOptions {
  CheckOptions checks;
  WriteOptions write;
  ViewOptions view;
  LoopOptions loop;
  LoadOptions load;
  ProofOptions proof;
};

/// Shows a graph, writes it, times it. The default subcommand.
class DumpCommand final : public ModelCommand {
 public:
  DumpCommand()
      : ModelCommand({"dump", kOnDump, "show the graph, write it, time it",
                      "rill model.nnef.tgz --pulse S=8 dump --nnef pulsed.nnef.tgz"}) {}

  const DumpOptions& options() const { return options_; }
  void add_options(std::vector<Option>* out) override;
  std::optional<std::string> wrong_value(const CommonOptions&) const override;

 protected:
  Demands demands(const CommonOptions& common) const override;
  bool takes_plan_files() const override { return true; }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override;
  Status run_plan_file(const CommonOptions& common, const Log&) const override;

 private:
  DumpOptions options_;
};

}  // namespace rill::cli
