// Options, the same way in every sub-command: -h, near misses suggested, and everything after "--" left untouched.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace reprise::cli {

struct CommandLine {
  std::vector<std::string> own;      // what stands before "--"
  std::vector<std::string> command;  // what stands after it
  bool separated = false;            // there was a "--"
};
CommandLine split_command_line(int argc, char** argv);

// Common manners for a sub-command's options. `usage` follows "Usage: reprise NAME ".
void set_manners(CLI::App& app, const std::string& usage);

// --mpi openmpi|mpich
void add_mpi_option(CLI::App& app, std::string& mpi);

// Parses; when the command has to end here (help was asked for), the exit status. Throws UserError on bad usage.
std::optional<int> parse(CLI::App& app, std::vector<std::string> own);

}  // namespace reprise::cli
