#include "frontends/mpi/flow/windows.hpp"

#include <memory>
#include <unordered_map>

#include "base/spin.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/flow/letters.hpp"
#include "frontends/mpi/flow/window_exchange.hpp"

namespace reprise::mpi::flow {
namespace {

constexpr std::uint64_t kLargestWatched = 4u << 20;    // bytes of a window that are kept, to know them from before
constexpr std::size_t kMostRuns = 4096;                // of a type that is told
constexpr std::uint64_t kLargestContribution = 64u << 10;
constexpr std::uint64_t kLargestSpan = 1u << 20;       // that is read back under a lock

template <class... Arguments>
int library(Function function, Arguments... arguments) {
  return library_function<int (*)(Arguments...)>(function)(arguments...);
}

}  // namespace

struct Window {
  MPI_Comm comm{};            // of our own
  const Group* group = nullptr;  // of the program's, for its name
  std::uint8_t* base = nullptr;
  std::uint64_t size = 0;
  std::vector<int> units;  // displacement units of all
  bool is_followed = false;
  bool is_anywhere = false;  // memory comes and goes
  std::vector<std::uint8_t> before;
  std::vector<Access> accesses;
  std::unordered_map<int, int> locks;  // target -> kind
  bool locked_all = false;
  std::vector<int> targets, origins;  // of MPI_Win_start and MPI_Win_post
  Letters letters;

  // As it is when an epoch begins.
  void remember() {
    if (size <= kLargestWatched && base) before.assign(base, base + size);
  }
  std::int64_t offset(const Access& access) const {
    return static_cast<std::int64_t>(access.disp_) * units[static_cast<std::size_t>(access.target_)];
  }
  std::vector<std::uint8_t> told(int target) const;
  void heard(int origin, std::span<const std::uint8_t> bytes, std::vector<HeardAccess>& all) const {
    auto some = read_accesses(group->local[static_cast<std::size_t>(origin)], bytes);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  std::vector<std::uint8_t> read(const Access& access, MPI_Win win, std::int64_t& lower) const;
  bool begins(Access& access);
  void ends(Access& access);
  void look_under_lock(MPI_Win win, int target);
  void forget(int target, trace::Unseen why);
};

namespace {

struct Book {
  std::atomic_flag lock;
  std::unordered_map<std::uint64_t, std::unique_ptr<Window>> all;
  std::uint64_t accesses = 0;
};
Book& book() {
  static auto* const one = new Book();  // never destroyed: the program may call MPI while it ends
  return *one;
}

Window* window(MPI_Win win) {
  const Spin spin(&book().lock);
  const auto found = book().all.find(handle_key(win));
  return found == book().all.end() || !found->second->is_followed ? nullptr : found->second.get();
}

void not_seen(trace::Unseen why, std::uint64_t count) {
  if (count > 0) log_remark(trace::Seen::NotSeen, 0, static_cast<std::uint64_t>(why), 0, count);
}
// The same of one that has no entry of its own.
void not_followed() { log_remark(trace::Seen::NotSeen, 1, static_cast<std::uint64_t>(trace::Unseen::Unusual), 0, 1); }

std::vector<int> ranks_of(MPI_Group group, MPI_Comm comm) {
  int size = 0;
  MPI_Group all{};
  library(Function::Group_size, group, &size);
  library(Function::Comm_group, comm, &all);
  std::vector<int> theirs(static_cast<std::size_t>(size));
  std::vector<int> ours(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) theirs[static_cast<std::size_t>(i)] = i;
  library_function<int (*)(MPI_Group, int, const int*, MPI_Group, int*)>(Function::Group_translate_ranks)(
      group, size, theirs.data(), all, ours.data());
  library(Function::Group_free, &all);
  return ours;
}

}  // namespace

bool may_be_in_window(const void* address) {
  const auto* const at = static_cast<const std::uint8_t*>(address);
  const Spin spin(&book().lock);
  for (const auto& [handle, one] : book().all)
    if (one->is_anywhere || (at >= one->base && at <= one->base + one->size)) return true;
  return false;
}

// --- accesses --------------------------------------------------------------------------------------------------------

Access::Access(MPI_Win win, AccessKind kind, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type)
    : win_(win), kind_(kind), target_(target), disp_(disp), count_(static_cast<std::uint64_t>(count > 0 ? count : 0)) {
  if (target == MPI_PROC_NULL || count_ == 0 || !is_logging()) return;
  if (window(win)) type_ = &type_of(type);
  else not_followed();
}

void Access::gives(const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (type_) origin_ = Description::region(buffer, count, type);
}
void Access::takes(void* buffer, MPI_Count count, MPI_Datatype type) {
  if (type_) origin_ = Description::region(buffer, count, type);
}
void Access::combines(MPI_Op op) {
  if (type_) operation_ = operation_number(op);
}

bool Access::begin() {
  Window* const there = type_ ? window(win_) : nullptr;
  return there && there->begins(*this);
}
void Access::end() {
  if (Window* const there = window(win_)) there->ends(*this);
}

bool Window::begins(Access& access) {
  if (!access.type_->flat.known || !access.origin_.known()) access.kind_ = AccessKind::Other;
  if (access.operation_ == 1 || access.operation_ == 2 + static_cast<std::uint64_t>(trace::Operation::NoOp))
    access.kind_ = AccessKind::Other;
  if (access.kind_ == AccessKind::Put) {
    Digests digests;
    digests.add(access.origin_, access.origin_.bytes(), trace::kMostPieces);
    access.content_.assign(digests.data(), digests.data() + digests.size());
  } else if (access.kind_ == AccessKind::Accumulate) {
    if (access.origin_.bytes() > kLargestContribution) access.kind_ = AccessKind::Other;
    else
      visit(access.origin_, access.origin_.bytes(), [&](const std::uint8_t* from, std::size_t size) {
        access.content_.insert(access.content_.end(), from, from + size);
      });
  }
  const auto locked = locks.find(access.target_);
  if (access.kind_ == AccessKind::Accumulate && locked != locks.end() && locked->second == MPI_LOCK_EXCLUSIVE) {
    std::int64_t lower = 0;
    access.before_ = read(access, access.win_, lower);
  }
  return true;
}

void Window::ends(Access& access) {
  Shape shape;
  Block block{access.origin_, access.target_};
  shape.group = group;
  shape.form = trace::IntentionForm::Access;
  shape.dest = access.target_;
  shape.operation = access.operation_;
  shape.given_base = shape.taken_base = access.origin_.buffer;
  shape.gives = &block;
  shape.gives_count = 1;
  log_access(number_of(shape));
  {
    const Spin spin(&book().lock);
    access.number_ = book().accesses++;
  }
  // What comes of an accumulate the next one changes: it is looked at at once.
  const auto locked = locks.find(access.target_);
  const bool is_alone = locked != locks.end() && locked->second == MPI_LOCK_EXCLUSIVE;
  // Later its buffer may be another one's.
  if (access.kind_ == AccessKind::Get && access.has_request_ && !is_alone) access.kind_ = AccessKind::Other;
  accesses.push_back(std::move(access));
  if (is_alone) look_under_lock(accesses.back().win_, accesses.back().target_);
}

// --- what is told ----------------------------------------------------------------------------------------------------

std::vector<std::uint8_t> Window::told(int target) const {
  std::vector<std::uint8_t> bytes;
  const auto add = [&](const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::uint8_t*>(from);
    bytes.insert(bytes.end(), first, first + count);
  };
  for (const Access& access : accesses) {
    if (access.target_ != target) continue;
    const engine::FlatType& flat = access.type_->flat;
    ToldAccess one;
    one.number = access.number_;
    const bool tells_all = flat.runs.size() <= kMostRuns;
    one.kind = static_cast<std::uint32_t>(tells_all ? access.kind_ : AccessKind::Other);
    one.operation = static_cast<std::uint32_t>(access.operation_);
    one.offset = offset(access);
    one.count = access.count_;
    one.extent = flat.extent;
    one.size = flat.size;
    one.runs = tells_all ? static_cast<std::uint32_t>(flat.runs.size()) : 0;
    const std::string name = element_of(*access.type_, one.element);
    if (name.empty()) one.element = 0;
    std::strncpy(one.name, name.c_str(), sizeof one.name - 1);
    std::vector<std::uint8_t> content = access.content_;
    if (access.kind_ == AccessKind::Get) {  // it has come by now
      Digests digests;
      digests.add(access.origin_, access.origin_.bytes(), trace::kMostPieces);
      content.assign(digests.data(), digests.data() + digests.size());
    }
    one.content = content.size();
    add(&one, sizeof one);
    if (one.runs > 0) add(flat.runs.data(), one.runs * sizeof flat.runs[0]);
    add(content.data(), content.size());
  }
  return bytes;
}

// The bytes that an access touches and those between them, as they are at the target now; the first one is `lower` bytes from
// its start. Under a lock of ours.
std::vector<std::uint8_t> Window::read(const Access& access, MPI_Win win, std::int64_t& lower) const {
  const engine::FlatType& flat = access.type_->flat;
  if (!flat.known || flat.runs.empty()) return {};
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  for (const auto& run : flat.runs) {
    first = std::min(first, run.offset);
    last = std::max(last, run.offset + static_cast<std::int64_t>(run.size));
  }
  const std::int64_t steps = static_cast<std::int64_t>(access.count_ - 1) * flat.extent;
  lower = first + std::min<std::int64_t>(steps, 0);
  const std::int64_t bytes = last + std::max<std::int64_t>(steps, 0) - lower;
  const std::int64_t unit = units[static_cast<std::size_t>(access.target_)];
  const std::int64_t begin = offset(access) + lower;
  if (bytes <= 0 || static_cast<std::uint64_t>(bytes) > kLargestSpan || begin % unit != 0) return {};
  std::vector<std::uint8_t> there(static_cast<std::size_t>(bytes));
  // Not by the MPI_Get that may be what is looked at.
  using Fetch = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Op, MPI_Win);
  MPI_Datatype byte = handles().byte;
  library(Function::Win_flush, access.target_, win);
  library_function<Fetch>(Function::Get_accumulate)(nullptr, 0, byte, there.data(), static_cast<int>(bytes), byte, access.target_,
                                                    static_cast<MPI_Aint>(begin / unit), static_cast<int>(bytes), byte,
                                                    handles().no_op, win);
  library(Function::Win_flush, access.target_, win);
  return there;
}

void Window::look_under_lock(MPI_Win win, int target) {
  for (const Access& access : accesses) {
    if (access.target_ != target) continue;
    std::int64_t lower = 0;
    std::vector<std::uint8_t> now =
        access.kind_ == AccessKind::Other ? std::vector<std::uint8_t>() : read(access, win, lower);
    if (now.empty()) {
      not_seen(trace::Unseen::Unusual, 1);
      continue;
    }
    Window only;
    only.group = group;
    only.units = units;
    only.accesses = {access};
    std::vector<HeardAccess> heard;
    const auto bytes = only.told(target);
    only.heard(group->me, bytes, heard);
    for (HeardAccess& one : heard) one.told.offset = -lower;  // in what was read
    look_at_window(now.data(), now.size(), access.before_, heard);
  }
  std::erase_if(accesses, [&](const Access& access) { return access.target_ == target; });
}

void Window::forget(int target, trace::Unseen why) {
  not_seen(why, std::erase_if(accesses, [&](const Access& access) { return target < 0 || access.target_ == target; }));
}

// --- windows ---------------------------------------------------------------------------------------------------------

void window_made(MPI_Win win, MPI_Comm comm, bool is_shared) {
  auto made = std::make_unique<Window>();
  made->group = group_of(comm);
  void* base = nullptr;
  MPI_Aint* size = nullptr;
  int* unit = nullptr;
  int flavor_known = 0;
  int* flavor = nullptr;
  using GetAttribute = int (*)(MPI_Win, int, void*, int*);
  const auto ask = library_function<GetAttribute>(Function::Win_get_attr);
  ask(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flavor_known);
  const bool is_dynamic = flavor_known && *flavor == MPI_WIN_FLAVOR_DYNAMIC;
  int found = 0;
  ask(win, MPI_WIN_BASE, &base, &found);
  ask(win, MPI_WIN_SIZE, &size, &found);
  if (found) made->size = static_cast<std::uint64_t>(*size);
  ask(win, MPI_WIN_DISP_UNIT, &unit, &found);
  int mine = found ? *unit : 1;
  made->base = static_cast<std::uint8_t*>(base);
  made->is_anywhere = is_dynamic;
  made->is_followed = made->group && is_logging() && uses_messages() && !is_shared && !is_dynamic;
  if (made->is_followed) {
    made->units.resize(made->group->local.size());
    made->comm = private_copy(comm);
    MPI_Datatype integer = handles().integer;
    using Gather = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
    library_function<Gather>(Function::Allgather)(&mine, 1, integer, made->units.data(), 1, integer, made->comm);
    made->remember();
  }
  const Spin spin(&book().lock);
  book().all[handle_key(win)] = std::move(made);
}

void window_freed(MPI_Win win) {
  std::unique_ptr<Window> gone;
  {
    const Spin spin(&book().lock);
    const auto found = book().all.find(handle_key(win));
    if (found == book().all.end()) return;
    gone = std::move(found->second);
    book().all.erase(found);
  }
  if (!gone->is_followed) return;
  gone->letters.tidy(true);
  library(Function::Comm_free, &gone->comm);
}

namespace {

// Everybody tells everybody; nobody goes on before all have looked.
void exchange(Window& there) {
  const auto members = there.units.size();
  std::vector<std::uint8_t> all;
  std::vector<int> counts(members), places(members), theirs(members), from(members);
  for (std::size_t i = 0; i < members; ++i) {
    const auto bytes = there.told(static_cast<int>(i));
    places[i] = static_cast<int>(all.size());
    counts[i] = static_cast<int>(bytes.size());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  MPI_Datatype integer = handles().integer;
  MPI_Datatype byte = handles().byte;
  using Alltoall = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  using Alltoallv =
      int (*)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm);
  library_function<Alltoall>(Function::Alltoall)(counts.data(), 1, integer, theirs.data(), 1, integer, there.comm);
  int total = 0;
  for (std::size_t i = 0; i < members; ++i) {
    from[i] = total;
    total += theirs[i];
  }
  std::vector<std::uint8_t> come(static_cast<std::size_t>(total) + 1);
  library_function<Alltoallv>(Function::Alltoallv)(all.data(), counts.data(), places.data(), byte, come.data(), theirs.data(),
                                                   from.data(), byte, there.comm);
  std::vector<HeardAccess> heard;
  for (std::size_t i = 0; i < members; ++i)
    there.heard(static_cast<int>(i), {come.data() + from[i], static_cast<std::size_t>(theirs[i])}, heard);
  look_at_window(there.base, there.size, there.before, heard);
  there.accesses.clear();
  there.remember();  // while nobody can change it
  library(Function::Barrier, there.comm);
}

void tell_targets(Window& there) {
  for (const int target : there.targets) there.letters.send(there.comm, target, there.told(target));
  there.targets.clear();
  there.accesses.clear();
}

void hear_origins(Window& there) {
  std::vector<HeardAccess> heard;
  for (const int origin : there.origins) {
    there.heard(origin, receive_letter(there.comm, origin), heard);
  }
  look_at_window(there.base, there.size, there.before, heard);
  there.origins.clear();
}

template <Flavor kFlavor>
struct Followed {
  template <class... Arguments>
  static int real(Function function, Arguments... arguments) {
    return library_function<int (*)(Arguments...)>(function, kFlavor)(arguments...);
  }
  static int Win_fence(int assertion, MPI_Win win) {
    Window* const there = window(win);
    const bool begins = (assertion & MPI_MODE_NOPRECEDE) != 0;  // as all say: nothing was accessed
    if (there && begins) there->remember();
    const int rc = real(Function::Win_fence, assertion, win);
    if (rc == MPI_SUCCESS && there && !begins) exchange(*there);
    return rc;
  }
  static int Win_start(MPI_Group group, int assertion, MPI_Win win) {
    if (Window* const there = window(win)) there->targets = ranks_of(group, there->comm);
    return real(Function::Win_start, group, assertion, win);
  }
  static int Win_post(MPI_Group group, int assertion, MPI_Win win) {
    if (Window* const there = window(win)) {
      there->origins = ranks_of(group, there->comm);
      there->remember();
    }
    return real(Function::Win_post, group, assertion, win);
  }
  static int Win_complete(MPI_Win win) {
    const int rc = real(Function::Win_complete, win);
    Window* const there = window(win);
    if (rc == MPI_SUCCESS && there) tell_targets(*there);
    return rc;
  }
  static int Win_wait(MPI_Win win) {
    const int rc = real(Function::Win_wait, win);
    Window* const there = window(win);
    if (rc == MPI_SUCCESS && there) hear_origins(*there);
    return rc;
  }
  static int Win_test(MPI_Win win, int* flag) {
    const int rc = real(Function::Win_test, win, flag);
    Window* const there = window(win);
    if (rc == MPI_SUCCESS && *flag && there) hear_origins(*there);
    return rc;
  }
  static int Win_lock(int kind, int target, int assertion, MPI_Win win) {
    const int rc = real(Function::Win_lock, kind, target, assertion, win);
    if (Window* const there = window(win); rc == MPI_SUCCESS && there) there->locks[target] = kind;
    return rc;
  }
  static int Win_unlock(int target, MPI_Win win) {
    if (Window* const there = window(win)) {
      there->forget(target, trace::Unseen::SharedLock);
      there->locks.erase(target);
    }
    return real(Function::Win_unlock, target, win);
  }
  static int Win_unlock_all(MPI_Win win) {
    if (Window* const there = window(win)) there->forget(-1, trace::Unseen::SharedLock);
    return real(Function::Win_unlock_all, win);
  }
  static int Win_flush(int target, MPI_Win win) {
    if (Window* const there = window(win)) there->forget(target, trace::Unseen::SharedLock);
    return real(Function::Win_flush, target, win);
  }
  static int Win_flush_all(MPI_Win win) {
    if (Window* const there = window(win)) there->forget(-1, trace::Unseen::SharedLock);
    return real(Function::Win_flush_all, win);
  }

  static void put() {
    put_at_border(Function::Win_fence, kFlavor, &Win_fence);
    put_at_border(Function::Win_start, kFlavor, &Win_start);
    put_at_border(Function::Win_post, kFlavor, &Win_post);
    put_at_border(Function::Win_complete, kFlavor, &Win_complete);
    put_at_border(Function::Win_wait, kFlavor, &Win_wait);
    put_at_border(Function::Win_test, kFlavor, &Win_test);
    put_at_border(Function::Win_lock, kFlavor, &Win_lock);
    put_at_border(Function::Win_unlock, kFlavor, &Win_unlock);
    put_at_border(Function::Win_unlock_all, kFlavor, &Win_unlock_all);
    put_at_border(Function::Win_flush, kFlavor, &Win_flush);
    put_at_border(Function::Win_flush_all, kFlavor, &Win_flush_all);
  }
};

}  // namespace

void put_synchronisation() {
  Followed<Flavor::Mpi>::put();
  Followed<Flavor::Pmpi>::put();
}

}  // namespace reprise::mpi::flow
