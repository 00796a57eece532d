// Persistent receives: what MPI_Recv_init was told, and, in replay, the receive that stands for a started one.
//
// A persistent receive from any source can hear another sender each time it is started, but a handle's source cannot be
// changed. In replay its Start posts an ordinary receive for the recorded sender, the stand-in. Every call that takes
// requests works on the stand-in in place of the program's handle and gives the handle back afterwards (Substituted).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

struct PersistentReceive {
  void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type{};  // replay: our own, since the program may free its type before the last Start
  int source = 0;
  int tag = 0;
  MPI_Comm comm{};
  std::int64_t comm_number = 0;
  bool receive = false;  // false: something else that was cancelled and needed a stand-in

  MPI_Request stand_in{};
  bool stands_in = false;
};

// How many receives have a stand-in now: most programs never have one, and pay for looking here only.
inline std::uint32_t g_stand_ins = 0;

class PersistentReceives {
 public:
  bool any() const { return !all_.empty(); }

  PersistentReceive* find(MPI_Request handle) {
    if (all_.empty()) return nullptr;
    const auto found = all_.find(handle_key(handle));
    return found == all_.end() ? nullptr : &found->second;
  }
  void made(MPI_Request handle, const PersistentReceive& receive);
  // MPI_Request_free: the stand-in, if there is one, is freed too.
  void freed(MPI_Request handle);

  // Replay: from now on until it is seen complete, `request` stands for the handle.
  void stand_in(MPI_Request handle, MPI_Request request);
  void stand_in_completed(PersistentReceive& receive) {
    receive.stands_in = false;
    --g_stand_ins;
  }

 private:
  std::unordered_map<std::uint64_t, PersistentReceive> all_;
};

// Never destroyed: the program may call MPI from its own exit handlers.
PersistentReceives& persistent_receives();

// The requests of a call, with stand-ins in the places of the handles that they stand for.
class Substituted {
 public:
  Substituted(int count, MPI_Request* requests) : requests_(requests) {
    if (g_stand_ins != 0 && count > 0) [[unlikely]]
      substitute(static_cast<std::size_t>(count));
  }
  ~Substituted() { give_back(); }
  Substituted(const Substituted&) = delete;
  Substituted& operator=(const Substituted&) = delete;

  MPI_Request* data() { return copies_.empty() ? requests_ : copies_.data(); }
  // What the call did to the requests, in the program's own array; a handle whose stand-in has completed is inactive.
  void give_back() {
    if (!copies_.empty()) [[unlikely]]
      restore();
  }

 private:
  void substitute(std::size_t count);
  void restore();

  MPI_Request* requests_;
  std::vector<MPI_Request> copies_;
};

}  // namespace reprise::mpi
