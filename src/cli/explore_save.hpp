// Orders that fail are kept as traces, with all values: each is run once more, recorded, and can be replayed without a
// launcher, or one rank of it alone in a debugger.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/explore_findings.hpp"
#include "cli/explore_order.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {

// What the program said last, in `dir_fd`/rank-N.err, if it ended itself because something was wrong.
void name_assertion(Finding& finding, int dir_fd);

class OrderKeeper {
 public:
  // `wanted`: a directory; empty: ./reprise.d/NAME-K.
  OrderKeeper(std::vector<std::string> command, std::string mpi, std::string name, std::string wanted)
      : command_(std::move(command)), mpi_(std::move(mpi)), name_(std::move(name)), wanted_(std::move(wanted)) {}

  // Where all of them are; made when it is first asked for.
  const std::string& home();

  // `play` runs the order, recorded into this directory.
  using Play = std::function<explore::RunResult(const std::string& directory, std::uint64_t trace_id)>;
  // Where it was kept; empty if it did not happen again, which is said.
  // A failed assertion is recognised by what the program says there.
  std::string keep(Finding& finding, int ranks, OrderFacts facts, const Play& play);

 private:
  std::vector<std::string> command_;
  std::string mpi_;
  std::string name_;
  std::string wanted_;
  std::optional<NewTrace> home_;
};

}  // namespace reprise::cli
