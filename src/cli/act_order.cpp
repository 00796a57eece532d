#include "cli/act_order.hpp"

#include <fmt/format.h>
#include <fcntl.h>

#include <cstdio>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/choose_mpi.hpp"
#include "cli/explore_order.hpp"
#include "cli/explore_troupe.hpp"
#include "cli/launch.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"
#include "explore/run.hpp"

namespace reprise::cli {

namespace {

void show(const std::string& directory, std::uint32_t rank, const char* kind, std::FILE* to) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (const auto text = read_file_at(fd.get(), fmt::format("rank-{}.{}", rank, kind), 64u << 20, false)) {
    std::fwrite(text->data(), 1, text->size(), to);
    std::fflush(to);
  }
}

}  // namespace

int act_order(const OpenTrace& trace) {
  const OrderFacts facts = read_order_facts(trace);
  const trace::Manifest& manifest = trace.manifest;
  Troupe troupe(manifest.command, choose_mpi(manifest.command, manifest.mpi), static_cast<int>(manifest.ranks), 1);
  if (!troupe.await_readiness(60)) fail("replay: the program calls MPI before MPI_Init");
  const TemporaryDirectory place;
  explore::RunOptions run = run_options_of(facts);
  run.output = place.path();
  run.files = place.path() + "/files";
  const explore::RunResult result = explore::Run(troupe.stage(0), run).play(facts.options);
  if (const auto trouble = troupe.trouble()) fail("replay: {}", *trouble);
  if (!result.trouble.empty()) fail("replay: {}", printable(result.trouble));
  for (std::uint32_t rank = 0; rank < manifest.ranks; ++rank) {
    show(place.path(), rank, "out", stdout);
    show(place.path(), rank, "err", stderr);
  }
  const bool is_the_same =
      facts.categories.empty() ? result.problems.empty() : shows(result, facts.categories.front());
  if (!is_the_same) {
    say("the replay diverged: the order does not end as it did: has the program changed?");
    return kDiverged;
  }
  say("the explored order ended here ({})", printable(manifest.ended));
  return manifest.exit_status;
}

}  // namespace reprise::cli
