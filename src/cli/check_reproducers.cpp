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
constexpr const char* kLate = "124";  // what timeout ends with

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

MadeReproducer make_reproducer(const flow::Violation& violation, const flow::LoggedType* blamed, const std::string& directory,
                               std::size_t number, const Toolchain& tools) {
  MadeReproducer made;
  std::string why;
  const std::string name = fmt::format("reproducer-{}", number);
  const auto program = flow::reproducer(violation, blamed, name, why);
  if (!program) {
    made.words = "no stand-alone program: " + why;
    return made;
  }
  made.path = directory + '/' + name + ".c";
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
  // What it has said by then counts even if it does not end. Ranks may be more than there are processors.
  const std::string output = room.path() + "/output";
  const auto ended = capture({"sh", "-c", fmt::format("timeout -k 10 {} \"$@\" >\"$0\" 2>&1; echo $?", kPatience.count()), output,
                              tools.launcher, "-n", std::to_string(program->ranks), binary},
                             {{"OMPI_MCA_rmaps_base_oversubscribe", "1"}, {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}},
                             kPatience + 30s);
  std::ifstream in(output);
  bool is_fine = false;
  for (std::string line; std::getline(in, line);) {
    made.shows = made.shows || line.find("WRONG: ") != std::string::npos;
    is_fine = is_fine || line == "ok";
  }
  const std::string status = ended ? ended->substr(0, ended->find('\n')) : "";
  if (made.shows) made.words = "it shows this";
  else if (is_fine) made.words = "alone, the call does what it should";
  else if (!ended || status == kLate) made.words = "it does not end";
  else made.words = fmt::format("it does not run to its end (status {})", status);
  return made;
}

}  // namespace reprise::cli
