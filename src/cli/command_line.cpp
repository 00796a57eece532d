// The command `reprise`: a table of its sub-commands, and the border at which every exception ends.
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/speech.hpp"
#include "cli/version.hpp"

namespace reprise::cli {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};

constexpr std::array kCommands = {
    Command{"record", "run a program and record what happened", record_command},
    Command{"replay", "run it again, exactly as recorded", replay_command},
    Command{"show", "what a recorded run did, call by call", show_command},
    Command{"lint", "what one run shows to be wrong with its calls of MPI", lint_command},
    Command{"check", "did the MPI library deliver every byte?", check_command},
    Command{"explore", "try every message order that can make a difference", explore_command},
    Command{"explain", "which decisions make an explored order fail", explain_command},
    Command{"extract", "some ranks in one file, for a colleague", extract_command},
    Command{"cc", "compile so that every load and store can be followed (C)", cc_command},
    Command{"c++", "the same for C++", cxx_command},
    Command{"fc", "the same for Fortran", fc_command},
    Command{"doctor", "is everything in place; are all ranks seen", doctor_command},
    Command{"version", "the version of reprise", version_command},
};

void print_help() {
  fmt::print(
      "Usage: reprise COMMAND [OPTIONS] [-- PROGRAM...]\n\n"
      "Records runs of message-passing programs and replays them exactly.\n\n");
  for (const Command& command : kCommands) fmt::print("  {:<10} {}\n", command.name, command.summary);
  fmt::print(
      "\nStart with:  reprise record -- mpirun -n 4 ./app\n"
      "More:        reprise COMMAND -h\n");
}

const Command& find_command(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command;
    names.emplace_back(command.name);
  }
  const bool option = name.starts_with('-');
  if (option) names = {"--help", "--version"};
  const std::string_view near = nearest(name, names);
  const char* kind = option ? "option" : "command";
  if (near.empty()) fail("unknown {} '{}' (see reprise -h)", kind, printable(name));
  fail("unknown {} '{}'; did you mean 'reprise {}'?", kind, printable(name), near);
}

int run(int argc, char** argv) {
  if (argc < 2)
    fail("which command? record, replay, show, lint, check, explore, explain, extract, cc, c++, fc, doctor or version (see reprise -h)");
  const std::string_view first = argv[1];
  if (first == "-h" || first == "--help" || first == "help") {
    print_help();
    return 0;
  }
  if (first == "--version") return version_command(1, argv + 1);
  return find_command(first).run(argc - 1, argv + 1);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UserError& error) {
    say_line(error.what());
    return error.status();
  } catch (const std::bad_alloc&) {
    say("out of memory");
    return kTrouble;
  } catch (const std::exception& error) {
    say("this is a bug in reprise {}: {}", kVersion, error.what());
    say("please report it together with the command that you typed");
    return kTrouble;
  }
}

}  // namespace reprise::cli
