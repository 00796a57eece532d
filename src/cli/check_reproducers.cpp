#include "cli/check_reproducers.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/process.hpp"
#include "cli/capture.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"
#include "flow/reproducer.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto kPatience = 60s;

// The same in both places: in a directory, or on the path.
bool is_there(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  std::string rest = path ? path : "";
  for (std::size_t begin = 0; begin <= rest.size();) {
    const std::size_t end = std::min(rest.find(':', begin), rest.size());
    if (end > begin && ::access((rest.substr(begin, end - begin) + "/" + program).c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

Toolchain find_toolchain(const std::vector<std::string>& command, const std::string& mpi) {
  std::vector<Toolchain> candidates;
  for (const std::string& word : command) {
    const std::size_t slash = word.rfind('/') == std::string::npos ? 0 : word.rfind('/') + 1;
    for (const char* const launcher : {"mpirun", "mpiexec"}) {
      const std::string name = word.substr(slash);
      if (name.starts_with(launcher))
        candidates.push_back({word.substr(0, slash) + "mpicc" + name.substr(std::string(launcher).size()), word});
    }
  }
  candidates.push_back({"mpicc." + mpi, "mpirun." + mpi});
  candidates.push_back({"mpicc", "mpirun"});
  for (const Toolchain& one : candidates)
    if (is_there(one.compiler) && is_there(one.launcher)) return one;
  return {};
}

MadeReproducer make_reproducer(const flow::Violation& violation, const std::string& directory, std::size_t number,
                               const Toolchain& tools) {
  MadeReproducer made;
  std::string why;
  const auto program = flow::reproducer(violation, why);
  if (!program) {
    made.words = "no stand-alone program: " + why;
    return made;
  }
  made.path = fmt::format("{}/reproducer-{}.c", directory, number);
  std::ofstream out(made.path);
  out << program->source;
  out.close();
  if (!out) fail("cannot write {}", made.path);
  if (tools.compiler.empty()) {
    made.words = "it was not tried: there is no mpicc";
    return made;
  }
  const TemporaryDirectory room;
  const std::string binary = room.path() + "/reproducer";
  if (!capture({tools.compiler, "-O1", "-o", binary, made.path}, {}, kPatience)) {
    made.words = "it was not tried: " + tools.compiler + " does not compile it";
    return made;
  }
  // Ranks may be more than there are processors. The status of the launcher says nothing that its output does not.
  const auto said = capture({"sh", "-c", "\"$@\" 2>&1; true", "sh", tools.launcher, "-n", std::to_string(program->ranks), binary},
                            {{"OMPI_MCA_rmaps_base_oversubscribe", "1"}}, kPatience);
  made.shows = said && said->find("WRONG") != std::string::npos;
  if (!said) made.words = "it does not end";
  else if (made.shows) made.words = "it shows this";
  else if (said->find("ok") != std::string::npos) made.words = "alone, the call does what it should";
  else made.words = "it does not run to its end";
  return made;
}

}  // namespace reprise::cli
