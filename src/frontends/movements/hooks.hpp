// Between libreprise-movements.so, which stands before whatever moves bytes in the program, and the preload library,
// which wants to know what the MPI library moves (`reprise check --flows`).
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace reprise::movements {

// A stream of bytes, as far as this process has seen it.
struct Stream {
  int fd = -1;
  std::uint32_t generation = 0;  // descriptors are used again
  std::uint64_t offset = 0;      // of the first byte that is moved now, since the connection was made
  std::uint64_t began = 0;       // when the call was made that moves them (base/machine_ticks.hpp)
};

// Some bytes in pieces of memory.
struct Pieces {
  const iovec* first = nullptr;
  std::size_t count = 0;
};

// What the preload library is told. `caller`: where in the program, or in one of its libraries.
struct Hooks {
  // Before it is done.
  void (*copies)(void* to, const void* from, std::size_t bytes, const void* caller);
  // Afterwards: so many bytes have been moved.
  void (*sent)(const Stream& stream, Pieces pieces, std::size_t bytes, const void* caller);
  void (*heard)(const Stream& stream, Pieces pieces, std::size_t bytes, const void* caller);
  // The memory of another process.
  void (*pulled)(pid_t process, Pieces own, Pieces theirs, std::size_t bytes, const void* caller);
  void (*pushed)(pid_t process, Pieces own, Pieces theirs, std::size_t bytes, const void* caller);
  // Memory that is shared with others has come, or memory has gone (`bytes` 0: nobody knows how much).
  void (*mapped)(const void* address, std::size_t bytes, bool shared);
  // A function of the MPI library has packed or unpacked bytes [offset, offset + bytes) of these elements; how, only it
  // knows.
  void (*packed)(const void* buffer, std::size_t elements, std::size_t offset, const void* to, std::size_t bytes,
                 const void* function);
  void (*unpacked)(const void* buffer, std::size_t elements, std::size_t offset, const void* from, std::size_t bytes,
                   const void* function);
  // Before memory from malloc is given back: what is in it can still be compared.
  void (*frees)(const void* block, const void* caller);
};

// How many threads are inside a call of MPI: nothing is told while there is none.
using Active = std::atomic<std::uint32_t>;

using Attach = Active* (*)(const Hooks* hooks);
inline constexpr const char* kAttachName = "reprise_movements_attach";

}  // namespace reprise::movements
