#include "cli/commands.hpp"

int main(int argc, char** argv) { return reprise::cli::run_command_line(argc, argv); }
