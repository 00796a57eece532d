#include "cli/early_reads.hpp"

#include <algorithm>

#include "cli/temporary_directory.hpp"

namespace reprise::cli {
namespace {

using explore::RunResult;

bool is_same(const RunResult& one, const RunResult& other) {
  return one.histories == other.histories && one.output == other.output && one.counts == other.counts &&
         std::equal(one.problems.begin(), one.problems.end(), other.problems.begin(), other.problems.end(),
                    [](const explore::Problem& mine, const explore::Problem& theirs) {
                      return mine.category == theirs.category && mine.number == theirs.number;
                    });
}

// Where the program goes on while something is being received: the same place of several ranks together. Not those of which
// more is known already: that the same memory is sent, say.
std::vector<std::vector<explore::Place>> pending_places(const RunResult& result, const PlaceNamer& namer) {
  std::vector<std::vector<explore::Place>> all;
  for (const explore::Place& place : result.received_at) {
    const std::string function = namer.function(place.function);
    if (!function.starts_with("MPI_I") && !function.starts_with("MPI_Start")) continue;
    const bool is_named = std::any_of(result.problems.begin(), result.problems.end(), [&](const explore::Problem& problem) {
      return std::any_of(problem.places.begin(), problem.places.end(),
                         [&](const explore::Place& other) { return other.site == place.site; });
    });
    if (is_named) continue;
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one[0].site == place.site; });
    if (known == all.end()) all.push_back({place});
    else known->push_back(place);
  }
  return all;
}

}  // namespace

RunResult find_early_reads(virtual_world::Stage* stage, explore::RunOptions options, const PlaceNamer& namer) {
  const TemporaryDirectory said;
  options.output = said.path();
  options.wants_contents = true;
  const auto play = [&](std::uint64_t disturbed) {
    options.disturbed = disturbed;
    return explore::Run(stage, options).play({});
  };
  RunResult first = play(0);
  const auto places = pending_places(first, namer);
  const auto nothing = [&] {
    first.problems.clear();
    return first;
  };
  if (places.empty() || is_same(first, play(virtual_world::kDisturbsAll))) return nothing();
  if (!is_same(first, play(0))) return nothing();  // it never does the same twice
  const char* const words = "what the program does depends on what is in the buffer before the operation is complete";
  std::vector<explore::Problem> found;
  for (const auto& place : places)
    if (!is_same(first, play(place[0].site)))
      found.push_back({explore::Category::ReceiveBufferRead, place, 0, words, false});
  first.problems = std::move(found);
  return first;
}

}  // namespace reprise::cli
