#include "frontends/mpi/flow/letters.hpp"

namespace reprise::mpi::flow {
namespace {

constexpr int kTag = 1;
constexpr const char* kName = "Reprise";

}  // namespace

MPI_Comm private_copy(MPI_Comm comm) {
  MPI_Comm copy{};
  library_function<int (*)(MPI_Comm, MPI_Comm*)>(Function::Comm_dup)(comm, &copy);
  library_function<int (*)(MPI_Comm, const char*)>(Function::Comm_set_name)(copy, kName);
  return copy;
}

void Letters::send(MPI_Comm comm, int to, std::vector<std::uint8_t> bytes) {
  tidy(false);
  Letter& letter = under_way_.emplace_back();
  letter.bytes = std::move(bytes);
  using Isend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  library_function<Isend>(Function::Isend)(letter.bytes.data(), static_cast<int>(letter.bytes.size()), handles().byte, to, kTag,
                                           comm, &letter.request);
}

void Letters::tidy(bool wait) {
  while (!under_way_.empty()) {
    int done = 1;
    MPI_Request* const request = &under_way_.front().request;
    if (wait) library_function<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(request, MPI_STATUS_IGNORE);
    else library_function<int (*)(MPI_Request*, int*, MPI_Status*)>(Function::Test)(request, &done, MPI_STATUS_IGNORE);
    if (!done) return;
    under_way_.pop_front();
  }
}

std::vector<std::uint8_t> receive_letter(MPI_Comm comm, int from) {
  MPI_Status status;
  int count = 0;
  library_function<int (*)(int, int, MPI_Comm, MPI_Status*)>(Function::Probe)(from, kTag, comm, &status);
  library_function<int (*)(const MPI_Status*, MPI_Datatype, int*)>(Function::Get_count)(&status, handles().byte, &count);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  using Recv = int (*)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  library_function<Recv>(Function::Recv)(bytes.data(), count, handles().byte, from, kTag, comm, MPI_STATUS_IGNORE);
  return bytes;
}

}  // namespace reprise::mpi::flow
