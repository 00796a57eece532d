// The explorer's side of a stage: a file without a name that the ranks map, too.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/result.hpp"
#include "virtual/stage.hpp"

namespace reprise::explore {

class StageMemory {
 public:
  static Result<StageMemory> make(int ranks);
  StageMemory(StageMemory&& other) noexcept;
  StageMemory& operator=(StageMemory&&) = delete;
  ~StageMemory();

  virtual_world::Stage* get() const { return stage_; }
  // By which other processes open it.
  std::string path() const;

 private:
  StageMemory(UniqueFd fd, virtual_world::Stage* stage, std::size_t size)
      : fd_(std::move(fd)), stage_(stage), size_(size) {}

  UniqueFd fd_;
  virtual_world::Stage* stage_;
  std::size_t size_;
};

}  // namespace reprise::explore
