#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/option_table.h"
#include "cli/pipeline.h"

namespace rill::cli {

/// How a command appears on the command line.
struct CommandFacts {
  const char* name;
  unsigned where;  ///< its bit in the tables of options; 0: none of them
  const char* help;
  const char* example;
  bool of_tract = true;  ///< whether `rill-tract` has it
};

/// A command of the programs, with its own options. It prints results to stdout, and
/// returns a failure for the exit status.
class Command {
 public:
  explicit Command(const CommandFacts& facts) : facts_(facts) {}
  virtual ~Command() = default;

  const CommandFacts& facts() const { return facts_; }
  /// Add the options that `CommonOptions` does not have; their values go to this object.
  virtual void add_options(std::vector<Option>*) {}
  /// Return the message for the first invalid value, if there is one.
  virtual std::optional<std::string> wrong_value(const CommonOptions&) const {
    return std::nullopt;
  }
  virtual Status run(const CommonOptions& common, const Log& log) const = 0;

 private:
  CommandFacts facts_;
};

/// A command that works on a model, or on a compiled model.
class ModelCommand : public Command {
 public:
  using Command::Command;
  Status run(const CommonOptions& common, const Log& log) const final;

 protected:
  virtual Demands demands(const CommonOptions&) const { return {}; }
  /// Return whether the limits on plans hold for the plans that the command makes.
  virtual bool limits_plans() const { return false; }
  virtual bool writes_plan_files() const { return false; }
  virtual Status run_model(const CommonOptions& common, const Log& log,
                           const Model& model) const = 0;
  virtual bool takes_plan_files() const { return false; }
  /// Run with a compiled model in place of a model.
  virtual Status run_plan_file(const CommonOptions&, const Log&) const { return {}; }

 private:
  Status refuse_limits(const CommonOptions& common) const;
};

/// Refuse a runtime that the programs do not have. Errors: kArg.
Status check_runtime(const std::string& runtime);

/// Return all commands, in the order of `rill help`.
std::vector<std::unique_ptr<Command>> all_commands();

}  // namespace rill::cli
