// Solo replay: has the program read what others wrote between two of its calls?
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace reprise::mpi {

// Of one thread.
class BetweenCalls {
 public:
  // After each call. `nothing_new`: neither before it nor in it has anything come.
  void passed(bool nothing_new);
  // After passed(), in the same call, where something came before the next one.
  bool was_read();

 private:
  struct Past {
    unsigned fits = 0;      // scouts that could not read it, and made the next call of the log
    bool mattered = false;  // one did not
    bool blind = false;     // one was lost
  };

  std::uint64_t before_ = UINT32_MAX;  // the site of the last call but one, for the next passed()
  std::uint64_t pair_ = 0;             // the last two
  std::uint32_t next_ = 0;
  bool something_else_ = false;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> usual_;
  std::unordered_map<std::uint64_t, Past> scouted_;
};

}  // namespace reprise::mpi
