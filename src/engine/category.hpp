// What can be wrong with a program, by name. The names are stable: users filter by them.
#pragma once

#include <cstdint>

namespace reprise::engine {

enum class Category : std::uint8_t {
  Deadlock,
  Livelock,
  Mismatch,   // of collectives: kind, root, operation
  Crash,      // a signal
  Assertion,  // the program itself says that something is wrong
  Failure,    // a non-zero exit status
  Abort,      // MPI_Abort
  MpiError,   // an error class that nobody handled
  LostSend,   // at the end
  LostReceive,
  NoFinalize,
  Stalled,   // a rank computes for ever
  Unstable,  // the program does not do the same again
  // What a rank notices itself.
  InvalidArgument,
  Truncation,
  TypeMismatch,     // between a send and its receive
  CollectiveTypes,  // counts or types of a collective do not fit together
  RequestLeak,      // never waited for
  PersistentLeak,   // a persistent request that was never freed
  RequestMisuse,    // freed or started while it is active, or never started
  CommunicatorLeak,
  GroupLeak,
  DatatypeLeak,
  OperationLeak,  // MPI_Op
  WindowLeak,
  FileLeak,
  SendBufferChanged,  // before the send was complete
  ReceiveBufferChanged,
  ReceiveBufferRead,
  OverlappingBuffers,
  SmallBuffer,  // larger than what was allocated
  OutsideMpi,  // called before MPI_Init or after MPI_Finalize
  ThreadLevel,
  // One-sided communication.
  WindowConflict,  // accesses that meet and may not
  WindowStore,     // the target itself changes what others access
  OutsideEpoch,
  OpenEpoch,      // never closed
  NestedEpochs,   // one begins where another one does not allow it
  OutsideWindow,  // beyond its end
  kCount
};

const char* category_name(Category category);

}  // namespace reprise::engine
