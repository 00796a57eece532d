#include "frontends/mpi/border/operation.hpp"

#include <algorithm>
#include <cstring>

#include "base/address_remains.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/files.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/border/windows.hpp"
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

// What is mapped changes seldom, and a program that sends such bytes does it again and again.
bool holds_address(const std::vector<DataRun>& runs) {
  thread_local AddressRemains addresses;
  const auto found = [](const DataRun& run) { return addresses.in(run.from, run.size); };
  if (std::any_of(runs.begin(), runs.end(), found)) return true;
  addresses = AddressRemains();
  return std::any_of(runs.begin(), runs.end(), found);
}

// Calls that bring nothing are counted, so that those that failed can be found again; those with a request by its
// number.
thread_local std::int64_t t_quiet_calls = 0;
constexpr std::int64_t kWithRequest = std::int64_t{1} << 48;

void log_failure(std::int64_t number, int rc) {
  if (rc == MPI_SUCCESS) return;
  std::int64_t fields[] = {number, rc, 0, t_error.code != 0 ? t_error.comm : engine::kNoComm};
  Session::get().data().add(DataKind::Failure, fields, {}, {});
}

}  // namespace

// None of something that cannot be touched.
std::optional<Operation::Region> Operation::region(void* buffer, MPI_Count count, MPI_Datatype type) {
  if (count <= 0) return std::nullopt;
  auto layout = layout_of(type);
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * layout->size;
  if (!layout->known) not_solo("a datatype is too large for its layout to be found out");
  if (bytes == 0 || !layout->known) return std::nullopt;
  return Region{buffer, bytes, std::move(layout)};
}

void Operation::fills(void* buffer, MPI_Count count, MPI_Datatype type) {
  if (auto filled = region(buffer, count, type)) regions_.push_back(std::move(*filled));
}

void Operation::sends(int dest, int tag, const void* buffer, MPI_Count count, MPI_Datatype type) {
  will_send(dest, tag);
  if (dest == MPI_PROC_NULL) return;
  gives(buffer, count, type);
}

void Operation::gives(const void* buffer, MPI_Count count, MPI_Datatype type) {
  outgoing_.compared = true;
  outgoing_.content = region(const_cast<void*>(buffer), count, type).value_or(Region{});
}

Operation Operation::without_results() {
  Operation results;
  results.window_ = window_;
  results.regions_ = std::move(regions_);
  regions_.clear();
  return results;
}

std::vector<DataRun> Operation::outgoing_runs() const {
  std::vector<DataRun> runs;
  const Region& all = outgoing_.content;
  if (all.layout)
    all.layout->visit(all.buffer, all.bytes, [&](const std::uint8_t* from, std::size_t size) {
      runs.push_back({from, size});
    });
  return runs;
}

virtual_world::Message Operation::message() const {
  const Region& all = outgoing_.content;
  if (!all.layout) return {};
  const DataRun whole{all.buffer, all.bytes};
  return {static_cast<std::int64_t>(all.bytes),
          all.layout->solid ? engine::digest_of({&whole, 1}) : engine::digest_of(outgoing_runs())};
}

void Operation::log_sent() const {
  if (!outgoing_.compared) return;
  const virtual_world::Message sent = message();
  std::array<std::int64_t, 2 + std::tuple_size_v<Place>> fields{sent.bytes, sent.digest};
  if (outgoing_.place) std::copy(outgoing_.place->begin(), outgoing_.place->end(), fields.begin() + 2);
  Session::get().data().add(DataKind::Sent, {fields.data(), outgoing_.place ? fields.size() : 2}, {}, {});
}

// Whether the program computed what it did in the recorded run shows when it sends it. But an address is another one in
// every run, and so is memory that once held one and was never written to.
void sends_other_bytes(std::uint64_t size, const std::vector<DataRun>& runs, const virtual_world::Message& recorded) {
  static std::atomic<bool> warned{false};
  Session& session = Session::get();
  const auto bytes = static_cast<std::int64_t>(size);
  const bool has_address = holds_address(runs);
  if (!session.compares_sent() || (bytes == recorded.bytes && has_address)) {
    if (!warned.exchange(true))
      session.supervisor().warn("sends other bytes than in the recorded run, from call " +
                                std::to_string(session.replayer().next_event()) + " on" +
                                (has_address ? ": an address, or memory that was never written to" : ""));
    return;
  }
  const std::string reason =
      bytes != recorded.bytes
          ? "the call sends " + std::to_string(bytes) + " bytes, in the recorded run " + std::to_string(recorded.bytes)
          : "the call sends other bytes than in the recorded run (--ignore-sent goes on)";
  session.insist(session.replayer().mismatch(reason.c_str()));
}

void Operation::begins(std::optional<virtual_world::Ticket> ticket) {
  if (outgoing_.compared) {
    const virtual_world::Message recorded = trace_provider().sent();
    if (recorded != message()) sends_other_bytes(outgoing_.content.bytes, outgoing_runs(), recorded);
  }
  virtual_world::Companions* const others = companions();
  if (!others) return;
  if (const auto channel = channel_to(comm_, outgoing_.to, outgoing_.tag)) others->sends(*channel);
  number_ = 0;
  if (hears_ && ticket && takes_ == Takes::Now) {
    if (const auto channel = channel_of(trace_provider().tag(*ticket))) number_ = others->posts(*channel);
  } else if (is_collective_) {
    number_ = others->enters(communicators().uid(comm_), provider().rank());
  }
}

// As far as it is known before the message is there. Wrappers have replaced MPI_ANY_SOURCE.
std::optional<virtual_world::Channel> Operation::channel_of(std::optional<int> tag) const {
  if (tag_ != MPI_ANY_TAG) tag = tag_;
  else if (size_unknown_) tag.reset();  // the library does not tell it
  return tag ? channel_from(comm_, source_, *tag) : std::nullopt;
}

void Operation::await_senders(const Outcome& outcome) {
  virtual_world::Companions* const others = companions();
  if (!others) return;
  if (is_collective_ && (is_barrier_ || !regions_.empty())) {
    Session::get().posted();  // meanwhile other threads may make their calls
    for (const int member : members_behind(comm_, sources_, root_, some_))
      others->awaits(communicators().uid(comm_), member, number_);
  }
  if (!hears_ || takes_ == Takes::Already || file_ || from_nobody() || !outcome.status || outcome.status->cancelled)
    return;
  const auto channel =
      size_unknown_ ? channel_of(std::nullopt) : channel_from(comm_, outcome.status->source, outcome.status->tag);
  if (!channel) return;
  if (number_ == 0) number_ = takes_ == Takes::NotYet ? others->next(*channel) : others->posts(*channel);
  Session::get().posted();
  others->receives(*channel, number_);
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
    region.layout->visit(region.buffer, bytes, [&](const std::uint8_t* from, std::size_t size) {
      runs.push_back({from, size});
    });
  }
  for (const DataRun& run : runs) publish_written(run.from, run.size);
  Session::get().data().add(kind, {fields, count}, parts, runs);
}

Operation::Operation() = default;
Operation::Operation(const Operation& other) = default;
Operation::Operation(Operation&& other) noexcept = default;
Operation& Operation::operator=(const Operation& other) = default;
Operation& Operation::operator=(Operation&& other) noexcept = default;
Operation::~Operation() = default;

int Operation::logged(MPI_Status* programs, FunctionRef<int(MPI_Status*)> call) {
  MPI_Status* const status = observed(programs);
  bool logged = false;
  auto settle = [&] {
    if (!logged) log(t_error.code, status);
    logged = true;
  };
  log_sent();
  int rc;
  {
    AtBorder in_flight(settle);
    rc = call(status);
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
  auto* const begin =
      static_cast<std::uint8_t*>(all.buffer) + static_cast<std::ptrdiff_t>(elements) * partition * all.layout->extent;
  all.layout->visit(begin, bytes, [&](const std::uint8_t* from, std::size_t size) { runs.push_back({from, size}); });
  const std::int64_t fields[] = {static_cast<std::int64_t>(post), partition, MPI_SUCCESS, 0};
  Session::get().data().add(DataKind::Partition, fields, {&bytes, 1}, runs);
}

void Operation::write_partition(const Outcome& outcome, int partition) const {
  if (regions_.empty() || partitions_ <= 0 || outcome.parts.empty()) return;
  const Region& all = regions_.front();
  const std::uint64_t elements = all.bytes / all.layout->size / static_cast<std::uint64_t>(partitions_);
  const std::uint8_t* from = outcome.parts[0]->data();
  auto* const begin =
      static_cast<std::uint8_t*>(all.buffer) + static_cast<std::ptrdiff_t>(elements) * partition * all.layout->extent;
  const std::uint64_t bytes = std::min<std::uint64_t>(elements * all.layout->size, outcome.parts[0]->size());
  all.layout->visit(begin, bytes, [&](std::uint8_t* to, std::size_t size) {
    std::memcpy(to, from, size);
    from += size;
  });
}

void Operation::write(const Outcome& outcome) const {
  for (std::size_t i = 0; i < regions_.size() && i < outcome.parts.size(); ++i) {
    const Region& region = regions_[i];
    const std::uint8_t* from = outcome.parts[i]->data();
    const std::uint64_t bytes = std::min<std::uint64_t>(region.bytes, outcome.parts[i]->size());
    region.layout->visit(region.buffer, bytes, [&](std::uint8_t* to, std::size_t size) {
      std::memcpy(to, from, size);
      from += size;
    });
  }
}

int Operation::logged_later(const MPI_Request* request, bool persistent, FunctionRef<int()> call) {
  if (!persistent) log_sent();
  auto settle = [&] { log_failed_post(t_error.code); };
  int rc;
  {
    AtBorder in_flight(settle);
    rc = call();
  }
  return log_later(rc, request, persistent);
}

int Operation::log_later(int rc, const MPI_Request* request, bool persistent) {
  if (rc == MPI_SUCCESS && (brings() || (persistent && outgoing_.compared)))
    border_requests().add(*request, std::move(*this), persistent);
  if (t_error.code == 0) log_failed_post(rc);  // otherwise that was done when the error handler was called
  return rc;
}

void Operation::log_failed_post(int rc) { log_failure(kWithRequest + static_cast<std::int64_t>(g_posts.next()), rc); }

int Operation::answer(MPI_Status* status) {
  begins();
  if (!brings()) {
    await_senders({});
    if (hears_) show_empty_status(status, MPI_PROC_NULL);
    const auto failed = trace_provider().failure(++t_quiet_calls);
    return failed ? raise(*failed) : MPI_SUCCESS;
  }
  const Outcome outcome = trace_provider().call();
  await_senders(outcome);
  write(outcome);
  if (outcome.status) show_status(*outcome.status, status);
  return raise(outcome);
}

std::optional<int> Operation::failed() {
  const auto failed = trace_provider().failure(++t_quiet_calls);
  return failed ? std::optional(failed->error) : std::nullopt;
}

int Operation::answer_later(MPI_Request* request, bool persistent) {
  if (!persistent) begins(g_posts.next());
  if (const auto failed = trace_provider().failure(kWithRequest + static_cast<std::int64_t>(g_posts.next())))
    return raise(*failed);
  return border_requests().carry(std::move(*this), persistent, request);
}

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

void show_empty_status(MPI_Status* out, int source) { show_status({source, MPI_ANY_TAG, 0, false, MPI_SUCCESS}, out); }

int Operation::raise(const Outcome& outcome) const {
  if (file_) return raise_again(*file_, outcome.error);
  if (window_) return raise_again(*window_, outcome.error);
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
  const Outcome outcome = trace_provider().call();
  if (!outcome.numbers.empty()) answer = outcome.numbers.back();
  return outcome.error;
}

int raise_again(MPI_Comm comm, int error) {
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  singleton_function<int (*)(MPI_Comm, int)>(Function::Comm_call_errhandler)(comm, error);
  return error;
}

virtual_world::TraceProvider& trace_provider() {
  static auto* const trace = new virtual_world::TraceProvider();
  return *trace;
}

namespace {

virtual_world::Provider* g_provider = nullptr;

}  // namespace

virtual_world::Provider& provider() { return g_provider ? *g_provider : trace_provider(); }
void set_provider(virtual_world::Provider* provider) { g_provider = provider; }

}  // namespace reprise::mpi
