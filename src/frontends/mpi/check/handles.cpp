#include "frontends/mpi/check/handles.hpp"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/spin.hpp"
#include "frontends/mpi/check/buffers.hpp"
#include "frontends/mpi/check/epochs.hpp"
#include "frontends/mpi/check/signature.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi::check {
namespace {

struct Loan {
  std::unique_ptr<Lent> lent;
  bool is_sent = false;
};

struct Object {
  std::vector<Where> made;  // as often as it was given out
  bool committed = false;
  bool persistent = false;
  std::vector<Loan> loans;
};

std::atomic_flag g_lock;
using Objects = std::unordered_map<std::uint64_t, Object>;
Objects& all(Handle kind) {
  static auto* const tables = new Objects[kHandleKinds];  // never destroyed: see communicators.hpp
  return tables[static_cast<std::size_t>(kind)];
}

// Those that have been given back stay, without a place where they were made, until they are made again.
const Object* find(Handle kind, std::uint64_t key) {
  const auto found = all(kind).find(key);
  return found == all(kind).end() ? nullptr : &found->second;
}

Category category_of(Handle kind, const Object& object) {
  switch (kind) {
    case Handle::Communicator: return Category::CommunicatorLeak;
    case Handle::Group: return Category::GroupLeak;
    case Handle::Datatype: return Category::DatatypeLeak;
    case Handle::Operation: return Category::OperationLeak;
    case Handle::Window: return Category::WindowLeak;
    case Handle::File: return Category::FileLeak;
    case Handle::Request: break;
  }
  return object.persistent ? Category::PersistentLeak : Category::RequestLeak;
}

const char* words_for(Handle kind, const Object& object) {
  if (kind == Handle::File) return "never closed";
  if (kind != Handle::Request) return "never freed";
  return object.persistent ? "never freed" : "never waited for";
}

// Sends that are complete at once may share a handle, and nobody knows which of them is meant: but until now the
// program had none of their buffers back. Within the lock, or another thread could go on with a buffer that is still
// looked at.
void end_loans(Object& object) {
  for (const Loan& loan : object.loans)
    if (loan.is_sent) loan.lent->end();  // what was received has been changed by the library
  object.loans.clear();
}

std::vector<Lent::Part> part(bool sends, const void* buffer, MPI_Count count, MPI_Datatype type) {
  auto layout = layout_of(type);
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * layout->size;
  return {{sends ? Lent::Use::Sent : Lent::Use::Received, {buffer, bytes, std::move(layout)}}};
}

}  // namespace

void made(Handle kind, std::uint64_t key, bool persistent) {
  const Spin spin(&g_lock);
  Object& object = all(kind)[key];
  if (object.made.empty()) object = {};
  object.made.push_back(here());
  object.persistent = persistent;
}

void given_back(Handle kind, std::uint64_t key) {
  const Spin spin(&g_lock);
  const auto found = all(kind).find(key);
  if (found == all(kind).end() || found->second.made.empty()) return;
  found->second.made.pop_back();
  end_loans(found->second);
}

void replaced(std::uint64_t request, std::uint64_t by) {
  const Spin spin(&g_lock);
  const auto found = all(Handle::Request).find(request);
  if (found == all(Handle::Request).end() || found->second.made.empty()) return;
  Object object = std::move(found->second);
  found->second = {};
  all(Handle::Request)[by] = std::move(object);
}

void lends(std::uint64_t request, bool sends, const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (host().raise || count <= 0) return;
  auto lent = std::make_unique<Lent>(part(sends, buffer, count, type), sends);
  const Spin spin(&g_lock);
  const auto found = all(Handle::Request).find(request);
  if (found != all(Handle::Request).end()) found->second.loans.push_back({std::move(lent), sends});
}

void uses(bool sends, const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (!host().raise && count > 0) Lent(part(sends, buffer, count, type), false);
}

void is_complete(std::uint64_t request) {
  const Spin spin(&g_lock);
  const auto found = all(Handle::Request).find(request);
  if (found != all(Handle::Request).end()) end_loans(found->second);
}

bool is_alive(Handle kind, std::uint64_t key) {
  const Spin spin(&g_lock);
  const Object* const object = find(kind, key);
  return object && !object->made.empty();
}

bool was_freed(Handle kind, std::uint64_t key) {
  const Spin spin(&g_lock);
  const Object* const object = find(kind, key);
  return object && object->made.empty();
}

void forget_type(MPI_Datatype type) {
  forget_layout(type);
  forget_signature(type);
}

void committed(std::uint64_t type) {
  const Spin spin(&g_lock);
  const auto found = all(Handle::Datatype).find(type);
  if (found != all(Handle::Datatype).end()) found->second.committed = true;
}

bool is_uncommitted(std::uint64_t type) {
  const Spin spin(&g_lock);
  const Object* const object = find(Handle::Datatype, type);
  return object && !object->made.empty() && !object->committed;
}

bool is_derived(std::uint64_t type) {
  const Spin spin(&g_lock);
  return find(Handle::Datatype, type) != nullptr;
}

void committed_like(std::uint64_t type, std::uint64_t other) {
  if (!is_uncommitted(other)) committed(type);
}

// What was made at one place is reported once.
void report_leaks() {
  report_open_epochs();
  std::map<std::tuple<Category, std::uint64_t, std::uint64_t>, std::pair<std::size_t, std::string>> found;
  {
    const Spin spin(&g_lock);
    for (int kind = 0; kind < kHandleKinds; ++kind)
      for (const auto& [key, object] : all(static_cast<Handle>(kind)))
        for (const Where& where : object.made) {
          auto& [count, words] = found[{category_of(static_cast<Handle>(kind), object), where.site, where.function}];
          ++count;
          words = words_for(static_cast<Handle>(kind), object);
        }
  }
  for (const auto& [what, how] : found) {
    const std::string words = how.first == 1 ? how.second : std::to_string(how.first) + " of them " + how.second;
    report(std::get<0>(what), {-1, std::get<1>(what), std::get<2>(what)}, words.c_str());
  }
}

Completing::Completing(MPI_Count n, const MPI_Request* requests)
    : requests_(requests), count_(n > 0 ? static_cast<std::size_t>(n) : 0) {
  if (count_ > kFew) many_.resize(count_);
  std::uint64_t* const keys = count_ > kFew ? many_.data() : few_;
  for (std::size_t i = 0; i < count_; ++i) keys[i] = handle_key(requests[i]);
  settles_ = t_state.border_settle == nullptr;
  if (!settles_) return;
  t_state.at_border = this;
  t_state.border_settle = [](void* object) { static_cast<const Completing*>(object)->look(); };
}

Completing::~Completing() {
  if (!settles_) return;
  t_state.border_settle = nullptr;
  t_state.at_border = nullptr;
}

void Completing::look() const {
  const std::uint64_t none = handle_key(handles().request_null);
  const std::uint64_t* const keys = count_ > kFew ? many_.data() : few_;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint64_t now = handle_key(requests_[i]);
    if (now == keys[i]) continue;
    if (now == none) given_back(Handle::Request, keys[i]);
    else replaced(keys[i], now);
  }
}

}  // namespace reprise::mpi::check
