// reprise explore: every relevant message order of a program.
#include <algorithm>
#include <thread>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/exploration.hpp"
#include "cli/options.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

int explore_command(int argc, char** argv) {
  ExplorationOptions options;
  std::string stopped_search;  // a directory
  OptionParser parser(
      "explore",
      "Runs a program with so many ranks again and again, without a launcher, until every message order that can make "
      "a\n"
      "difference has been tried. Exit status: 0 nothing found, 1 something found, 3 stopped by a limit with nothing\n"
      "found so far, 2 trouble.",
      "-n RANKS [OPTIONS] -- PROGRAM...\n\n"
      "Example: reprise explore -n 4 -- ./app input.txt");
  parser.option("-n,--ranks", options.ranks, "How many ranks", "N");
  parser.mpi_option(options.mpi);
  parser
      .option("--buffering", options.buffering,
              "What standard sends do: none (wait for their receive), infinite, mixed (each as it likes), both (the "
              "two extremes, one after the other), all",
              "none|infinite|mixed|both|all")
      .one_of({"none", "infinite", "mixed", "both", "all"})
      .default_shown();
  parser.option("--poll-bound", options.poll_bound, "How often in a row a test or probe may say no at one place", "N")
      .default_shown();
  parser.option("--max-orders", options.max_orders, "Stop after so many orders", "N");
  parser.option("--max-time", options.max_seconds, "Stop after so many seconds", "S");
  parser.option("--step-timeout", options.step_seconds, "How long a rank may compute without a call of MPI", "S")
      .default_shown();
  parser.option("-j,--jobs", options.workers, "Orders tried at once (default: one per core)", "N");
  parser.option("--list", options.list, "Write one line of JSON per order: who heard whom", "FILE");
  parser.flag("--list-output", options.list_output, "With --list: what each rank wrote to its standard output, too");
  parser.option("-o,--output", options.directory, "Directory for failing orders (default: ./reprise.d/NAME-K)", "DIR");
  parser.option("--keep-order", options.keep, "Keep this order, too, whatever it does", "N");
  parser.flag("--no-save", options.no_save, "Do not keep failing orders");
  parser.flag(
      "--private-files", options.private_files,
      "The ranks work in a directory of their own, where the files of the real one are seen through links; what "
      "a failing order wrote is kept with it");
  add_reduction_options(parser, options.reductions);
  parser.option("--resume", stopped_search,
                "Go on with a search that was stopped; -n and the program are those of then", "DIR");
  parser.option("--ignore", options.ignored, "Do not report these categories: 'datatype leak'", "CATEGORY")
      .comma_separated();
  parser.option("--sarif", options.sarif, "Write what was found as SARIF", "FILE");
  parser.option("--junit", options.junit, "Write what was found as JUnit XML", "FILE");
  parser.flag("--json", options.json, "The result as JSON");
  parser.flag("-q,--quiet", options.quiet, "No progress");
  const CommandLine line = split_command_line(argc, argv);
  try {
    if (const auto status = parser.parse(line.own)) return *status;
    std::vector<std::string> command = line.command;
    SavedSearch resumed;
    if (!stopped_search.empty()) {
      if (!command.empty() || options.ranks != 0) fail("explore: --resume goes on with the same program and ranks");
      resumed = SavedSearch::read(stopped_search);
      command = resumed.command;
      options.ranks = resumed.ranks;
      options.mpi = resumed.mpi;
      options.buffering = resumed.buffering;
      options.poll_bound = resumed.poll_bound;
      options.reductions = resumed.reductions;
    }
    if (command.empty()) fail("explore: which program? For example: reprise explore -n 4 -- ./app");
    if (options.ranks == 0)
      fail("explore: how many ranks? For example: reprise explore -n 4 -- {}", printable(command[0]));
    if (options.ranks < 1 || options.ranks > virtual_world::kMostRanks)
      fail("explore: between 1 and {} ranks can be explored", virtual_world::kMostRanks);
    if (options.workers <= 0) options.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return Exploration(options, command, std::move(resumed)).run();
  } catch (const UserError& error) {
    throw UserError(error.what(), 2);
  }
}

}  // namespace reprise::cli
