#include "frontends/mpi/border/operation.hpp"

#include <algorithm>
#include <cstring>

#include "engine/session.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/files.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "frontends/mpi/posts.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/status.hpp"
#include "virtual/trace_provider.hpp"

namespace reprise::mpi {

using engine::DataKind;
using engine::DataRun;
using engine::Session;
using virtual_world::Outcome;
using virtual_world::StoredOutcome;

namespace {

std::int64_t bytes_of(const MPI_Status& status) {
  MPI_Count count = 0;
  library_function<int (*)(const MPI_Status*, MPI_Datatype, MPI_Count*)>(Function::Get_elements_x)(
      &status, handles().byte, &count);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

bool was_cancelled(const MPI_Status& status) {
  int cancelled = 0;
  library_function<int (*)(const MPI_Status*, int*)>(Function::Test_cancelled)(&status, &cancelled);
  return cancelled != 0;
}

// Calls that bring nothing are counted, so that those that failed can be found again; those with a request by its number.
thread_local std::int64_t t_quiet_calls = 0;
constexpr std::int64_t kWithRequest = std::int64_t{1} << 48;

void log_failure(std::int64_t number, int rc) {
  if (rc == MPI_SUCCESS) return;
  std::int64_t fields[] = {number, rc, 0, t_error.code != 0 ? t_error.comm : engine::kNoComm};
  Session::get().data().add(DataKind::Failure, fields, {}, {});
}

}  // namespace

void Operation::fills(void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count <= 0) return;
  auto layout = layout_of(type);
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * layout->size;
  if (!layout->known) not_solo("a datatype is too large for its layout to be found out");
  if (bytes == 0 || !layout->known) return;
  regions_.push_back({buffer, bytes, std::move(layout)});
}

// Of a message, as many bytes as came.
void Operation::add_entry(DataKind kind, const std::int64_t* first, std::size_t count, int error,
                          const MPI_Status* status) {
  std::int64_t fields[3 + StoredOutcome::kFields];
  std::copy_n(first, count, fields);
  virtual_world::Status stored;
  std::uint64_t message = UINT64_MAX;
  if (status && status->MPI_SOURCE == ObservedStatus::kUntouched) status = nullptr;  // the library left it alone
  if (hears_ && status) {
    // Open MPI leaves this in the statuses of files as it was.
    const bool cancelled = !file_ && was_cancelled(*status);
    stored = {status->MPI_SOURCE, status->MPI_TAG, bytes_of(*status), cancelled, status->MPI_ERROR};
    message = stored.cancelled ? 0 : size_unknown_ ? UINT64_MAX : static_cast<std::uint64_t>(stored.bytes);
  }
  count += StoredOutcome::put(fields + count, error, hears_ && status ? &stored : nullptr);
  if (error != MPI_SUCCESS) fields[count++] = t_error.code != 0 ? t_error.comm : engine::kNoComm;
  std::vector<std::uint64_t> parts;
  std::vector<DataRun> runs;
  for (const Region& region : regions_) {
    const std::uint64_t bytes = std::min(region.bytes, message);
    parts.push_back(bytes);
    region.layout->visit(region.buffer, bytes,
                         [&](const std::uint8_t* from, std::size_t size) { runs.push_back({from, size}); });
  }
  Session::get().data().add(kind, {fields, count}, parts, runs);
}

int Operation::logged_call(MPI_Status* status, int (*call)(void*, MPI_Status*), void* object) {
  bool logged = false;
  auto settle = [&] {
    if (!logged) log(t_error.code, status);
    logged = true;
  };
  int rc;
  {
    AtBorder in_flight(settle);
    rc = call(object, status);
  }
  if (!logged) log(rc, status);
  return rc;
}

int Operation::log(int rc, const MPI_Status* status) {
  border_requests().look_at_kept();  // what the program learns now may tell it that those are complete
  if (brings()) add_entry(DataKind::Call, nullptr, 0, rc, status);
  else log_failure(++t_quiet_calls, rc);
  return rc;
}

void Operation::has_types_per_rank([[maybe_unused]] const char* function) {
#ifdef OPEN_MPI
  if (t_state.through_fortran && blocks_in(comm_) > 1) not_solo(function);
#endif
}

void Operation::is_combined() { size_unknown_ = !combined_receive_tells_sender(); }

void Operation::log_completion(std::uint64_t post, int error, const MPI_Status& status) {
  const auto number = static_cast<std::int64_t>(post);
  add_entry(DataKind::Completion, &number, 1, error, &status);
}

void Operation::log_partition(std::uint64_t post, int partition) {
  if (regions_.empty() || partitions_ <= 0) return;
  const Region& all = regions_.front();
  const std::uint64_t elements = all.bytes / all.layout->size / static_cast<std::uint64_t>(partitions_);
  const std::uint64_t bytes = elements * all.layout->size;
  std::vector<DataRun> runs;
  auto* const begin = static_cast<std::uint8_t*>(all.buffer) +
                      static_cast<std::ptrdiff_t>(elements) * partition * all.layout->extent;
  all.layout->visit(begin, bytes, [&](const std::uint8_t* from, std::size_t size) { runs.push_back({from, size}); });
  const std::int64_t fields[] = {static_cast<std::int64_t>(post), partition, MPI_SUCCESS, 0};
  Session::get().data().add(DataKind::Partition, fields, {&bytes, 1}, runs);
}

void Operation::write_partition(const Outcome& outcome, int partition) const {
  if (regions_.empty() || partitions_ <= 0 || outcome.parts.empty()) return;
  const Region& all = regions_.front();
  const std::uint64_t elements = all.bytes / all.layout->size / static_cast<std::uint64_t>(partitions_);
  const std::uint8_t* from = outcome.parts[0].data();
  auto* const begin = static_cast<std::uint8_t*>(all.buffer) +
                      static_cast<std::ptrdiff_t>(elements) * partition * all.layout->extent;
  const std::uint64_t bytes = std::min<std::uint64_t>(elements * all.layout->size, outcome.parts[0].size());
  all.layout->visit(begin, bytes, [&](std::uint8_t* to, std::size_t size) {
    std::memcpy(to, from, size);
    from += size;
  });
}

void Operation::write(const Outcome& outcome) const {
  for (std::size_t i = 0; i < regions_.size() && i < outcome.parts.size(); ++i) {
    const Region& region = regions_[i];
    const std::uint8_t* from = outcome.parts[i].data();
    const std::uint64_t bytes = std::min<std::uint64_t>(region.bytes, outcome.parts[i].size());
    region.layout->visit(region.buffer, bytes, [&](std::uint8_t* to, std::size_t size) {
      std::memcpy(to, from, size);
      from += size;
    });
  }
}

int Operation::log_later(int rc, const MPI_Request* request, bool persistent) {
  if (rc == MPI_SUCCESS && brings()) border_requests().add(*request, std::move(*this), persistent);
  if (t_error.code == 0) log_failed_post(rc);  // otherwise that was done when the error handler was called
  return rc;
}

void Operation::log_failed_post(int rc) { log_failure(kWithRequest + static_cast<std::int64_t>(g_posts.next()), rc); }

int Operation::answer(MPI_Status* status) {
  if (!brings()) {
    if (hears_) show_empty_status(status, MPI_PROC_NULL);
    const auto failed = provider().failure(++t_quiet_calls);
    return failed ? raise(*failed) : MPI_SUCCESS;
  }
  const Outcome outcome = provider().call();
  write(outcome);
  if (outcome.status) show_status(*outcome.status, status);
  return raise(outcome);
}

std::optional<int> Operation::failed() {
  const auto failed = provider().failure(++t_quiet_calls);
  return failed ? std::optional(failed->error) : std::nullopt;
}

int Operation::answer_later(MPI_Request* request, bool persistent) {
  if (const auto failed = provider().failure(kWithRequest + static_cast<std::int64_t>(g_posts.next())))
    return raise(*failed);
  return border_requests().carry(std::move(*this), persistent, request);
}

// --- where this rank stands -----------------------------------------------------------------------------------------

int rank_in(MPI_Comm comm) {
  int rank = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Comm_rank)(comm, &rank);
  return rank;
}

namespace {

bool is_inter(MPI_Comm comm) {
  int flag = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Comm_test_inter)(comm, &flag);
  return flag != 0;
}

}  // namespace

int blocks_in(MPI_Comm comm) {
  int size = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(is_inter(comm) ? Function::Comm_remote_size : Function::Comm_size)(comm,
                                                                                                             &size);
  return size;
}

int neighbours_in(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  int count = 0;
  resolve_function<int (*)(MPI_Comm, int*)>(Function::Topo_test)(comm, &kind);
  if (kind == MPI_CART) {
    resolve_function<int (*)(MPI_Comm, int*)>(Function::Cartdim_get)(comm, &count);
    return 2 * count;
  }
  if (kind == MPI_GRAPH) {
    resolve_function<int (*)(MPI_Comm, int, int*)>(Function::Graph_neighbors_count)(comm, rank_in(comm), &count);
    return count;
  }
  int leaving = 0;
  int weighted = 0;
  if (kind == MPI_DIST_GRAPH)
    resolve_function<int (*)(MPI_Comm, int*, int*, int*)>(Function::Dist_graph_neighbors_count)(comm, &count, &leaving,
                                                                                                &weighted);
  return count;
}

bool is_root(MPI_Comm comm, int root) {
  return root == MPI_ROOT || (root >= 0 && !is_inter(comm) && root == rank_in(comm));
}

bool is_served_by(MPI_Comm comm, int root) {
  return root >= 0 && (is_inter(comm) || root != rank_in(comm));
}

bool takes_part(MPI_Comm, int root) { return root >= 0; }

// --- statuses and errors --------------------------------------------------------------------------------------------

void show_status(const virtual_world::Status& status, MPI_Status* out) {
  if (out == MPI_STATUS_IGNORE) return;
  out->MPI_SOURCE = status.source;
  out->MPI_TAG = status.tag;
  if (status.error != MPI_SUCCESS) out->MPI_ERROR = status.error;
  using SetElements = int (*)(MPI_Status*, MPI_Datatype, MPI_Count);
  library_function<SetElements>(Function::Status_set_elements_x)(out, handles().byte,
                                                                 static_cast<MPI_Count>(status.bytes));
  library_function<int (*)(MPI_Status*, int)>(Function::Status_set_cancelled)(out, status.cancelled ? 1 : 0);
}

void show_empty_status(MPI_Status* out, int source) {
  show_status({source, MPI_ANY_TAG, 0, false, MPI_SUCCESS}, out);
}

int Operation::raise(const Outcome& outcome) const {
  if (file_) return raise_again(*file_, outcome.error);
  MPI_Comm raised = comm_;
  if (outcome.error != MPI_SUCCESS && !outcome.numbers.empty())
    if (const auto found = communicators().handle(outcome.numbers[0])) raised = *found;
  return raise_again(raised, outcome.error);
}

int log_number(int rc, std::int64_t answer) {
  const std::int64_t fields[] = {rc, 0, answer};
  Session::get().data().add(DataKind::Call, fields, {}, {});
  return rc;
}

int answer_number(std::int64_t& answer) {
  const Outcome outcome = provider().call();
  if (!outcome.numbers.empty()) answer = outcome.numbers.back();
  return outcome.error;
}

int raise_again(MPI_Comm comm, int error) {
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  library_function<int (*)(MPI_Comm, int)>(Function::Comm_call_errhandler)(comm, error);
  return error;
}

virtual_world::Provider& provider() {
  static auto* const trace = new virtual_world::TraceProvider();
  return *trace;
}

}  // namespace reprise::mpi
