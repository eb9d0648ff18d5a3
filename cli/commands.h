#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace rill::cli {

// The commands, each in its file.
std::unique_ptr<Command> dump_command();
std::unique_ptr<Command> run_command();
std::unique_ptr<Command> bench_command();
std::unique_ptr<Command> compare_command();
std::unique_ptr<Command> stream_command();
std::unique_ptr<Command> inspect_command();
std::unique_ptr<Command> check_command();
std::unique_ptr<Command> audit_command();
std::unique_ptr<Command> compile_command();
std::unique_ptr<Command> modules_command();
/// Return the commands that print a list.
std::vector<std::unique_ptr<Command>> list_commands();
std::unique_ptr<Command> hwbench_command();

}  // namespace rill::cli
