// Options, the same way in every sub-command: -h, near misses suggested, and everything after "--" left untouched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace reprise::cli {

struct CommandLine {
  std::vector<std::string> own;      // what stands before "--"
  std::vector<std::string> command;  // what stands after it
  bool separated = false;            // there was a "--"
};
CommandLine split_command_line(int argc, char** argv);

// What more can be said of an option. (CLI11 itself is seen in options.cpp only: it takes long to compile.)
class OptionRules {
 public:
  explicit OptionRules(CLI::Option* option) : option_(option) {}
  OptionRules required();
  OptionRules one_of(const std::vector<std::string>& words);
  OptionRules positive();
  OptionRules bytes();  // 10k, 3 MB
  OptionRules comma_separated();
  OptionRules default_shown();
  // What is wrong with the text, or nothing.
  OptionRules checked(std::function<std::string(const std::string&)> complaint);

 private:
  CLI::Option* option_;
};

// The options of one sub-command. Names are as in "-o,--output"; without dashes it is an argument.
class OptionParser {
 public:
  // `usage` follows "Usage: reprise NAME ".
  OptionParser(const std::string& name, const std::string& what_it_does, const std::string& usage);
  ~OptionParser();
  OptionParser(const OptionParser&) = delete;
  OptionParser& operator=(const OptionParser&) = delete;

  void flag(const std::string& names, bool& value, const std::string& help);
  // `type`: what the help calls the value.
  OptionRules option(const std::string& names, std::string& value, const std::string& help, const char* type);
  OptionRules option(const std::string& names, std::vector<std::string>& value, const std::string& help,
                     const char* type);
  OptionRules option(const std::string& names, int& value, const std::string& help, const char* type);
  OptionRules option(const std::string& names, std::uint32_t& value, const std::string& help, const char* type);
  OptionRules option(const std::string& names, std::uint64_t& value, const std::string& help, const char* type);
  OptionRules option(const std::string& names, double& value, const std::string& help, const char* type);
  OptionRules option(const std::string& names, std::optional<std::uint32_t>& value, const std::string& help,
                     const char* type);
  OptionRules option(const std::string& names, std::optional<std::uint64_t>& value, const std::string& help,
                     const char* type);
  // --mpi openmpi|mpich|none
  void mpi_option(std::string& mpi);

  // When the command has to end here (help was asked for), the exit status. Throws UserError on bad usage.
  std::optional<int> parse(std::vector<std::string> own);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace reprise::cli
