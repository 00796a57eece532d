#include "report/trace_head.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/text.hpp"

namespace reprise::report {

namespace {

std::string when(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (!::localtime_r(&time, &parts) || parts.tm_year > 8000 || parts.tm_year < 70) return "at an unknown time";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

std::string duration_words(const trace::Manifest& manifest, const analyze::RunEnd& end) {
  if (!end.running) return fmt::format("{:.3f} s", manifest.seconds);
  const std::int64_t now = std::time(nullptr);
  return fmt::format("{} s ago", now > manifest.started ? now - manifest.started : 0);
}

std::string ranks_words(const trace::Manifest& manifest, const analyze::RunEnd& end) {
  std::string words = std::to_string(manifest.ranks > 0 ? manifest.ranks : end.world);
  if (!end.missing.empty())
    words += (end.running ? "; not out of MPI_Init yet: " : "; not recorded: ") + some_ranks(end.missing);
  if (!end.stopped.empty()) words += "; recording stopped early: " + some_ranks(end.stopped);
  return words;
}

}  // namespace

std::string some_ranks(const std::vector<std::uint32_t>& ascending, std::size_t width) {
  std::string words = number_ranges(ascending);
  if (words.size() <= width) return words;
  words.resize(words.rfind(", ", width));
  return words + fmt::format(", ... ({} in all)", ascending.size());
}

std::string ended_words(const trace::Manifest& manifest, const analyze::RunEnd& end) {
  if (end.running) return "still running";
  if (!manifest.complete) return "recording itself was cut off; ranks: " + end.words;
  return printable(manifest.ended);
}

void print_trace_head(const Paint& paint, const std::string& path, const trace::Manifest& manifest,
                      const analyze::RunEnd& end) {
  std::string library = manifest.mpi_library.empty() ? manifest.mpi : manifest.mpi_library;
  std::replace(library.begin(), library.end(), '\t', ' ');  // MPICH's version has tabs in it
  fmt::print("{}\n", paint.bold(printable(path)));
  fmt::print("  command   {}\n", printable(shell_words(manifest.command)));
  fmt::print("  where     {} on {} ({})\n", printable(manifest.working_directory), printable(manifest.host),
             printable(manifest.architecture));
  fmt::print("  when      {}, {}\n", when(manifest.started), duration_words(manifest, end));
  fmt::print("  MPI       {}\n", printable(library.substr(0, library.find(','))));
  fmt::print("  ranks     {}\n", ranks_words(manifest, end));
  fmt::print("  ended     {}\n", ended_words(manifest, end));
}

}  // namespace reprise::report
