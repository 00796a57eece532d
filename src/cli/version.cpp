// reprise version: what this is, and which traces it understands.
#include "cli/version.hpp"

#include <fmt/format.h>

#include "base/process.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "trace/format.hpp"

namespace reprise::cli {

int version_command(int argc, char** argv) {
  OptionParser parser("version", "Show the version of Reprise and of the traces it reads.", "[-h]");
  if (const auto status = parser.parse(split_command_line(argc, argv).own)) return *status;
  fmt::print("reprise {} ({}; trace format {}, reads {} to {})\n", kVersion, machine_architecture(),
             trace::kFormatVersion, trace::kOldestReadable, trace::kFormatVersion);
  return 0;
}

}  // namespace reprise::cli
