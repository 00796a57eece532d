// How a process finds the universe of its name. There is no file that could be left behind: whoever is in it listens at an abstract
// socket, and the memory is that process's memfd. Both end with the processes, however they end.
#pragma once

#include <cstdint>
#include <string>

namespace mcapi {

// The name that sockets and memory begin with.
std::string universe_name();

// Held while a universe is looked for or made. Ends with the process.
class RendezvousLock {
 public:
  explicit RendezvousLock(const std::string& name);
  ~RendezvousLock();
  RendezvousLock(const RendezvousLock&) = delete;
  RendezvousLock& operator=(const RendezvousLock&) = delete;
  bool is_held() const { return socket_ >= 0; }

 private:
  int socket_ = -1;
};

// The memory of a universe that somebody is in: a file of our own. -1: nobody is.
int find_memory(const std::string& name, std::uint32_t most_processes);
// New memory, of zeros. -1: there is none to be had.
int make_memory(const std::string& name, std::size_t size);
// Others find this process from now on, while the socket that it returns is open. -1: they cannot.
int be_found(const std::string& name, std::uint32_t process);

}  // namespace mcapi
