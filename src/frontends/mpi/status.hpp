// The program may ignore a status that we need. And a call may fail without filling it.
#pragma once

#include <new>
#include <type_traits>

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

class ObservedStatus {
 public:
  explicit ObservedStatus(MPI_Status* programs) : used_(programs == MPI_STATUS_IGNORE ? &own_ : programs) {
    before_ = used_->MPI_SOURCE;
    used_->MPI_SOURCE = kUntouched;
  }
  ~ObservedStatus() {
    if (used_->MPI_SOURCE == kUntouched) used_->MPI_SOURCE = before_;
  }
  ObservedStatus(const ObservedStatus&) = delete;
  ObservedStatus& operator=(const ObservedStatus&) = delete;

  MPI_Status* get() { return used_; }
  const MPI_Status* operator->() const { return used_; }
  const MPI_Status& operator*() const { return *used_; }
  // What stands in place of the sender while the library has not written one; no MPI uses it for anything.
  static constexpr int kUntouched = -30999;

  // The library has written a sender into it.
  bool filled() const { return used_->MPI_SOURCE >= 0; }

 private:
  MPI_Status own_{};
  MPI_Status* used_;
  int before_;
};

inline bool was_cancelled(const MPI_Status& status) {
  int cancelled = 0;
  library_function<int (*)(const MPI_Status*, int*)>(Function::Test_cancelled)(&status, &cancelled);
  return cancelled != 0;
}

// Room for n plain things, uninitialised: on the stack if they are few.
template <class T, std::size_t kOnStack = 64>
class Room {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit Room(std::size_t count)
      : data_(count <= kOnStack ? reinterpret_cast<T*>(few_) : static_cast<T*>(::operator new(count * sizeof(T)))) {}
  ~Room() {
    if (data_ != reinterpret_cast<T*>(few_)) ::operator delete(data_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t index) { return data_[index]; }

 private:
  alignas(T) unsigned char few_[kOnStack * sizeof(T)];
  T* data_;
};

}  // namespace reprise::mpi
