// reprise extract: some ranks of a trace in one file, to send to a colleague.
#include "base/text.hpp"
#include "cli/bundle.hpp"
#include "cli/commands.hpp"
#include "cli/libraries.hpp"
#include "cli/nodes.hpp"
#include "cli/options.hpp"
#include "cli/solo.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {

int extract_command(int argc, char** argv) {
  std::string directory;
  std::string output;
  std::string list;
  bool quiet = false;
  OptionParser parser("extract",
                      "Puts some ranks of a trace into one file. Whoever has the program can replay them there:\n"
                      "reprise replay --rank R FILE [-- PROGRAM].",
                      "--rank RANKS [-o FILE] [DIR]");
  parser.option("directory", directory, "The trace (default: ./reprise.d/latest)", "DIR");
  parser.option("--rank,--ranks", list, "Which ones; they must have been recorded with --data", "RANKS").required();
  parser.option("-o,--output", output, "The file (default: rankR.reprise)", "FILE");
  parser.flag("-q,--quiet", quiet, "No closing summary");
  const CommandLine line = split_command_line(argc, argv);
  if (line.separated) fail("extract: there is no command to run");
  if (const auto status = parser.parse(line.own)) return *status;
  const OpenTrace trace = open_trace(directory);
  const bool nodes = trace.manifest.mpi == kMcapi;
  const std::vector<std::uint32_t> ranks = nodes ? ranks_for_nodes(trace, list) : ranks_in_list(trace, list);
  for (const std::uint32_t rank : ranks)
    if (!nodes) refuse_what_cannot_run_alone(trace, rank);
  if (output.empty()) {
    for (char& c : list)
      if (c == ',') c = '+';
    output = fmt::format("{}{}.reprise", nodes ? "node" : "rank", list);
  }
  const std::uint64_t bytes = write_bundle(trace.fd.get(), ranks, output);
  if (quiet) return 0;
  if (nodes) {
    say("{} in {}, {}", counted(nodes_in_list(trace, list), "node"), printable(output), human_bytes(bytes));
    say("next: reprise replay --ranks {} {}", list, printable(shell_words({output})));
    return 0;
  }
  say("{} in {}, {}", ranks.size() == 1 ? fmt::format("rank {}", ranks[0]) : counted(ranks.size(), "rank"),
      printable(output), human_bytes(bytes));
  say("next: reprise replay --rank {} {}", ranks[0], printable(shell_words({output})));
  return 0;
}

}  // namespace reprise::cli
