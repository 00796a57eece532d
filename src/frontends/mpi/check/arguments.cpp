#include "frontends/mpi/check/arguments.hpp"

#include "frontends/mpi/border/world.hpp"
#include "frontends/mpi/check/epochs.hpp"
#include "frontends/mpi/check/fatal_errors.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi::check {

namespace {

int largest_tag() {
  static const int largest = [] {
    int* value = nullptr;
    int found = 0;
    singleton_function<int (*)(MPI_Comm, int, void*, int*)>(Function::Comm_get_attr)(handles().comm_world, MPI_TAG_UB,
                                                                                     &value, &found);
    return found && value ? *value : 32767;
  }();
  return largest;
}

}  // namespace

void Arguments::is_wrong(int error, std::string words) {
  if (error_ != MPI_SUCCESS) return;
  error_ = error;
  words_ = std::move(words);
}

bool Arguments::stop() const {
  if (fine()) return false;
  if (host().raise) return true;
  if (is_fatal(comm_.value_or(handles().comm_world))) report(category_of_error(error_), here(), words_.c_str());
  return false;
}

int Arguments::raise() const { return host().raise(comm_.value_or(handles().comm_world), error_, words_.c_str()); }

void Arguments::comm(MPI_Comm comm) {
  if (comm == handles().comm_null) return is_wrong(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL");
  const auto facts = host().facts(comm);
  if (!facts)
    return is_wrong(MPI_ERR_COMM, was_freed(Handle::Communicator, handle_key(comm)) ? "the communicator has been freed"
                                                                                    : "this is no communicator");
  comm_ = comm;
  facts_ = *facts;
}

void Arguments::peer(int rank, bool may_be_any) {
  if (!comm_ || facts_.peers < 0) return;
  nobody_ = rank == MPI_PROC_NULL;
  if (nobody_ || (may_be_any && rank == MPI_ANY_SOURCE)) return;
  if (rank < 0 || rank >= facts_.peers)
    is_wrong(MPI_ERR_RANK, "there is no rank " + std::to_string(rank) + " among " + std::to_string(facts_.peers));
}

void Arguments::check_tag(int tag, bool may_be_any) {
  if (nobody_ || (may_be_any && tag == MPI_ANY_TAG)) return;
  if (tag < 0 || tag > largest_tag())
    is_wrong(MPI_ERR_TAG,
             "a tag must be between 0 and " + std::to_string(largest_tag()) + ", not " + std::to_string(tag));
}

void Arguments::root(int rank) {
  if (!comm_ || facts_.peers < 0) return;
  insignificant_ = facts_.inter;
  if (facts_.inter && (rank == MPI_ROOT || rank == MPI_PROC_NULL)) return;
  if (rank < 0 || rank >= facts_.peers)
    is_wrong(MPI_ERR_ROOT, "the root is " + std::to_string(rank) + " among " + std::to_string(facts_.peers) + " ranks");
}

bool Arguments::is_root(int root) const { return comm_ && !insignificant_ && facts_.rank == root; }

void Arguments::check_count(MPI_Count count, const char* name) {
  if (count < 0) is_wrong(MPI_ERR_COUNT, std::string(name) + " is " + std::to_string(count));
}

// A datatype may hold addresses itself; then the buffer is MPI_BOTTOM, which is null.
void Arguments::data(const void* buffer, MPI_Count count, MPI_Datatype type, InPlace in_place, const char* buffer_name,
                     const char* count_name) {
  if (insignificant_ || !fine()) return;
  const bool stays = buffer == MPI_IN_PLACE;
  if (stays && in_place == kInPlace) return;
  check_count(count, count_name);
  this->type(type, true);
  if (!fine() || nobody_ || count <= 0) return;
  if (stays && in_place == kNotInPlace)
    is_wrong(MPI_ERR_BUFFER, std::string(buffer_name) + " is MPI_IN_PLACE, which has no meaning here");
  else if (buffer == nullptr && !is_derived(handle_key(type)) && type_size(type) > 0)
    is_wrong(MPI_ERR_BUFFER, std::string(buffer_name) + " is null");
}

template <class Count>
void Arguments::check_counts(const void* buffer, const Count* counts, MPI_Datatype type, InPlace in_place,
                             const char* buffer_name, const char* counts_name) {
  if (!comm_ || insignificant_ || !fine()) return;
  if (buffer == MPI_IN_PLACE && in_place == kInPlace) return;
  if (!counts) return is_wrong(MPI_ERR_COUNT, std::string(counts_name) + " is null");
  for (int i = 0; i < facts_.peers; ++i) {
    const std::string name = std::string(counts_name) + "[" + std::to_string(i) + "]";
    data(buffer, counts[i], type, in_place, buffer_name, name.c_str());
  }
}

void Arguments::data(const void* buffer, const int* counts, MPI_Datatype type, InPlace in_place,
                     const char* buffer_name, const char* counts_name) {
  check_counts(buffer, counts, type, in_place, buffer_name, counts_name);
}

void Arguments::data(const void* buffer, const MPI_Count* counts, MPI_Datatype type, InPlace in_place,
                     const char* buffer_name, const char* counts_name) {
  check_counts(buffer, counts, type, in_place, buffer_name, counts_name);
}

void Arguments::colour(int colour) {
  if (colour < 0 && colour != MPI_UNDEFINED) is_wrong(MPI_ERR_ARG, "the colour is " + std::to_string(colour));
}

void Arguments::type(MPI_Datatype type, bool travels) {
  const std::uint64_t key = handle_key(type);
  if (type == handles().datatype_null) is_wrong(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  else if (was_freed(Handle::Datatype, key)) is_wrong(MPI_ERR_TYPE, "the datatype has been freed");
  else if (travels && is_uncommitted(key)) is_wrong(MPI_ERR_TYPE, "the datatype has not been committed");
}

void Arguments::window(MPI_Win win) {
  const std::uint64_t key = handle_key(win);
  if (key == handle_key(handles().win_null)) is_wrong(MPI_ERR_WIN, "the window is MPI_WIN_NULL");
  else if (was_freed(Handle::Window, key)) is_wrong(MPI_ERR_WIN, "the window has been freed");
}

void Arguments::target(MPI_Win win, int rank) {
  nobody_ = rank == MPI_PROC_NULL;
  const int size = fine() ? window_size(win) : -1;
  if (!nobody_ && size >= 0 && (rank < 0 || rank >= size))
    is_wrong(MPI_ERR_RANK, "there is no rank " + std::to_string(rank) + " among " + std::to_string(size));
}

void Arguments::target_data(MPI_Count count, MPI_Datatype type, const char* count_name) {
  if (nobody_) return;
  check_count(count, count_name);
  this->type(type, true);
}

void Arguments::op(MPI_Op op) {
  if (handle_key(op) == handle_key(handles().op_null)) is_wrong(MPI_ERR_OP, "the operation is MPI_OP_NULL");
  else if (was_freed(Handle::Operation, handle_key(op))) is_wrong(MPI_ERR_OP, "the operation has been freed");
}

void Arguments::group(MPI_Group group) {
  if (group == handles().group_null) is_wrong(MPI_ERR_GROUP, "the group is MPI_GROUP_NULL");
  else if (was_freed(Handle::Group, handle_key(group))) is_wrong(MPI_ERR_GROUP, "the group has been freed");
}

void Arguments::request(const MPI_Request* request, bool may_be_null) {
  if (!request) return is_wrong(MPI_ERR_REQUEST, "the request's address is null");
  if (*request == handles().request_null) {
    if (!may_be_null) is_wrong(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    return;
  }
  if (!is_alive(Handle::Request, handle_key(*request)))
    is_wrong(MPI_ERR_REQUEST, was_freed(Handle::Request, handle_key(*request))
                                  ? "the request has been freed or completed"
                                  : "this is no request");
}

void Arguments::requests(MPI_Count n, const MPI_Request* requests, bool may_be_null) {
  check_count(n, "the number of requests");
  if (n > 0 && !requests) return is_wrong(MPI_ERR_REQUEST, "the address of the requests is null");
  for (MPI_Count i = 0; i < n && fine(); ++i) request(&requests[i], may_be_null);
}

namespace {

std::atomic<void*> g_below[2][static_cast<std::size_t>(Function::kCount)];

}  // namespace

void* below(Function function) {
  const auto flavour = static_cast<std::size_t>(t_state.flavor);
  void* const known = g_below[flavour][static_cast<std::size_t>(function)].load(std::memory_order_relaxed);
  return known ? known : look_up_in_library(function, t_state.flavor);
}

// In an explored rank they stand below the border, like everything that stands for the library there: what they raise
// is recorded. In an ordinary run they come before the library and whatever is at the border.
void put_check(Function function, void* ours) {
  const auto number = static_cast<std::size_t>(function);
  if (g_world_is_the_library) {
    void* now = g_library[1][number].load(std::memory_order_relaxed);
    if (!now) now = find_symbol((std::string("P") + kFunctionNames[number]).c_str());
    if (!now) return;
    for (auto& flavour : g_below) flavour[number].store(now, std::memory_order_relaxed);
    put_in_place_of_library(function, ours);
    return;
  }
  for (std::size_t flavour = 0; flavour < 2; ++flavour) {
    void* const now = g_functions[flavour][number].load(std::memory_order_relaxed);
    if (now == ours) continue;
    g_below[flavour][number].store(now, std::memory_order_relaxed);
    g_functions[flavour][number].store(ours, std::memory_order_relaxed);
  }
}

}  // namespace reprise::mpi::check
