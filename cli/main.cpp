#include "cli/program.h"

int main(int argc, char** argv) {
  return rill::cli::run_program(argc, argv, rill::cli::Flavor::kRill);
}
