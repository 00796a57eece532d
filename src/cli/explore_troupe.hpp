// The program that is explored, once per worker, with memory that both sides see.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/choose_mpi.hpp"
#include "cli/job.hpp"
#include "cli/temporary_directory.hpp"
#include "explore/stage_memory.hpp"

namespace reprise::cli {

class Troupe {
 public:
  Troupe(const std::vector<std::string>& command, const ChosenMpi& mpi, int ranks, int workers);
  ~Troupe();
  Troupe(const Troupe&) = delete;
  Troupe& operator=(const Troupe&) = delete;

  // Until all have come out of MPI_Init. False: the program calls MPI before that (ServerState::Early).
  bool await_readiness(double patience);

  std::size_t size() const { return stages_.size(); }
  virtual_world::Stage* stage(std::size_t index) const { return stages_[index].get(); }
  // Has it ended though it should not?
  std::optional<std::string> trouble();

 private:
  std::vector<explore::StageMemory> stages_;
  std::vector<TemporaryDirectory> rooms_;  // of the processes, by stage
  std::optional<Job> job_;
};

}  // namespace reprise::cli
