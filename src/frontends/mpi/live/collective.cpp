#include "frontends/mpi/live/collective.hpp"

#include <algorithm>
#include <cstring>

#include "frontends/mpi/communicators.hpp"

namespace reprise::mpi::live {

using virtual_world::as_word;

namespace {

// What a contribution looks like: how many blocks; of each, where its label is (from the start) and how many bytes
// follow that; and these.
struct Blocks {
  const std::uint64_t* head;
  std::uint64_t size(std::size_t block) const { return block < head[0] ? head[2 + 2 * block] : 0; }
  // The last block lists where the others lead.
  std::size_t edge_to(int rank, std::size_t occurrence) const {
    const std::size_t last = head[0] - 1;
    const char* const list = at(last)->data;
    for (std::size_t i = 0; i < size(last) / 4; ++i) {
      int to = 0;
      std::memcpy(&to, list + 4 * i, 4);
      if (to == rank && occurrence-- == 0) return i;
    }
    return head[0];
  }
  std::optional<Label> at(std::size_t block) const {
    if (block >= head[0]) return std::nullopt;
    return Label(reinterpret_cast<const char*>(head) + head[1 + 2 * block]);
  }
};

constexpr std::uint64_t in_words(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

std::uint64_t lay_down(std::span<const Region> blocks, std::size_t readers) {
  std::uint64_t size = 8 * (1 + 2 * blocks.size());
  std::vector<std::vector<std::uint64_t>> labels;
  for (const Region& block : blocks) {
    labels.push_back(label_of(block));
    size += 8 * labels.back().size() + in_words(block.bytes);
  }
  const std::uint64_t data = actor().allot(size, static_cast<std::uint32_t>(readers));
  auto* const head = reinterpret_cast<std::uint64_t*>(actor().bytes(data));
  head[0] = blocks.size();
  std::uint64_t at = 8 * (1 + 2 * blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    head[1 + 2 * i] = at;
    head[2 + 2 * i] = blocks[i].bytes;
    const std::uint64_t label = 8 * labels[i].size();
    std::memcpy(reinterpret_cast<char*>(head) + at, labels[i].data(), label);
    pack(blocks[i], reinterpret_cast<char*>(head) + at + label);
    at += label + in_words(blocks[i].bytes);
  }
  return data;
}

OperationId enter(std::uint64_t comm, std::uint64_t signature, Function function, int detail, std::uint64_t data,
                  const std::vector<int>& members, const std::vector<int>& needs) {
  const OperationId operation = actor().new_operation();
  std::vector<std::uint64_t> member_words;
  std::vector<std::uint64_t> need_words;
  for (const int member : members) member_words.push_back(as_word(member));
  for (const int need : needs) need_words.push_back(as_word(need));
  actor().act(Act::Enter,
              {operation, comm, signature, static_cast<std::uint64_t>(function), as_word(detail), data, this_site(),
               member_words.size(), need_words.size()},
              member_words, need_words);
  return operation;
}

}  // namespace

std::vector<int> all_members(const Communicator& communicator) {
  const std::vector<int>& local = communicator.local.members();
  if (!communicator.inter()) return local;
  const std::vector<int>& remote = communicator.remote->members();
  const bool local_first =
      *std::min_element(local.begin(), local.end()) < *std::min_element(remote.begin(), remote.end());
  std::vector<int> all = local_first ? local : remote;
  const std::vector<int>& rest = local_first ? remote : local;
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

Collective::Collective(Function function, MPI_Comm comm)
    : function_(function),
      comm_(comm),
      members_(known(comm)),
      peers_(members_->peers().members()),
      all_(all_members(*members_)),
      posted_(check::here()),
      signature_(static_cast<std::uint64_t>(function)) {}

void Collective::agrees_on_root(int root) {
  root_ = root;
  if (!inter()) agrees_on(static_cast<std::uint64_t>(root));
}

void Collective::agrees_on_operation(MPI_Op op) { agrees_on(is_predefined(op) ? handle_key(op) : 0); }

void Collective::waits_for(int peer) {
  const int rank = peers_[static_cast<std::size_t>(peer)];
  if (std::find(needs_.begin(), needs_.end(), rank) == needs_.end()) needs_.push_back(rank);
}

void Collective::waits_for_all() { needs_ = all_; }

void Collective::takes(int peer, std::size_t block, const Region& to) {
  takes_.push_back({peer, block, to, false});
  waits_for(peer);
}

void Collective::takes_edge(int peer, std::size_t occurrence, const Region& to) {
  takes_.push_back({peer, occurrence, to, true});
  waits_for(peer);
}

void Collective::combines(std::vector<int> peers, MPI_Count all, MPI_Count first, MPI_Count count, MPI_Datatype type,
                          MPI_Op op, void* to) {
  for (const int peer : peers) waits_for(peer);
  combines_.push_back({std::move(peers), static_cast<std::uint64_t>(all), first, count, type, op, to});
}

// --- neighbours ------------------------------------------------------------------------------------------------------

std::pair<int, int> Collective::edges() const { return virtual_world::degrees(members_->topology, me()); }

std::vector<int> Collective::outgoing() const { return virtual_world::outgoing(members_->topology, me()); }

std::vector<std::pair<int, std::size_t>> Collective::incoming(bool same_block) const {
  return virtual_world::incoming(members_->topology, me(), same_block);
}

// --- life ------------------------------------------------------------------------------------------------------------

// Along edges, a list of where they lead comes after the blocks.
OperationId Collective::begin(bool for_long) {
  std::vector<check::Lent::Part> parts;
  for (const Region& given : gives_) parts.push_back(sent(given));
  for (const Taken& taken : takes_) parts.push_back(received(taken.to));
  for (const Combined& combined : combines_)
    parts.push_back(received(region(combined.to, combined.count, combined.type)));
  for_long_ = for_long;
  if (!destinations_.empty())
    gives(destinations_.data(), static_cast<MPI_Count>(4 * destinations_.size()), handles().byte);
  const std::uint64_t data = lay_down(gives_, static_cast<std::size_t>(readers_));
  lent_ = std::make_unique<check::Lent>(parts, for_long);  // from here on it may hold anything: what is given is on its way
  return enter(communicators().uid(comm_), signature_, function_, root_, data, all_, needs_);
}

// All members must give as much as is taken, and of the same type (MPI 4.0, 6.1). Where they do not,
// what a library would do is anybody's guess; here the run goes on with what there is.
void Collective::compare(int peer, const Label& label, std::uint64_t given, const Region& expected) {
  std::string wrong;
  if (given != expected.bytes)
    wrong = std::to_string(given) + " bytes given, " + std::to_string(expected.bytes) + " expected";
  else if (expected.signature) wrong = engine::difference(label.signature, *expected.signature, given);
  if (wrong.empty()) return;
  check::Where from = label.from;
  from.rank = peers_[static_cast<std::size_t>(peer)];
  check::report(check::Category::CollectiveTypes, posted_, wrong.c_str(), from);
}

int Collective::finish(const std::vector<std::uint64_t>& contributions) {
  if (lent_ && for_long_) lent_->end();
  lent_.reset();
  std::vector<std::uint64_t> by_peer(peers_.size());
  for (std::size_t i = 0; i < peers_.size(); ++i)
    for (std::size_t j = 0; j < all_.size() && j < contributions.size(); ++j)
      if (all_[j] == peers_[i]) by_peer[i] = contributions[j];
  int error = MPI_SUCCESS;
  for (const Taken& taken : takes_) {
    const std::uint64_t data = by_peer[static_cast<std::size_t>(taken.peer)];
    if (data == 0) continue;
    const Blocks blocks{reinterpret_cast<const std::uint64_t*>(actor().bytes(data))};
    const std::size_t block = taken.by_edge ? blocks.edge_to(me(), taken.block) : taken.block;
    const std::optional<Label> label = blocks.at(block);
    if (!label) continue;
    compare(taken.peer, *label, blocks.size(block), taken.to);
    unpack(label->data, blocks.size(block), taken.to);
  }
  for (const Combined& combined : combines_)
    if (const int failed = combine(combined, by_peer)) error = failed;
  for (const std::uint64_t data : contributions)
    if (data != 0) actor().give_back(data);
  takes_.clear();
  combines_.clear();
  gives_.clear();
  return error;
}

// MPI_Reduce_local puts its first operand on the left: so from the last to the first.
int Collective::combine(const Combined& wanted, const std::vector<std::uint64_t>& by_peer) {
  if (wanted.count <= 0 || wanted.peers.empty()) return MPI_SUCCESS;
  const auto layout = layout_of(wanted.type);
  MPI_Count lower = 0;
  MPI_Count span = 0;
  singleton_function<int (*)(MPI_Datatype, MPI_Count*, MPI_Count*)>(Function::Type_get_true_extent_x)(wanted.type,
                                                                                                      &lower, &span);
  const auto count = static_cast<std::size_t>(wanted.count);
  const std::size_t room =
      static_cast<std::size_t>(span) + (count - 1) * static_cast<std::size_t>(std::abs(layout->extent));
  std::vector<char> sum(room + 64);
  std::vector<char> next(room + 64);
  bool first = true;
  for (auto peer = wanted.peers.rbegin(); peer != wanted.peers.rend(); ++peer) {
    const std::uint64_t data = by_peer[static_cast<std::size_t>(*peer)];
    if (data == 0) continue;
    const Blocks blocks{reinterpret_cast<const std::uint64_t*>(actor().bytes(data))};
    const std::uint64_t skipped = static_cast<std::uint64_t>(wanted.first) * layout->size;
    const std::optional<Label> label = blocks.at(0);
    if (!label) continue;
    compare(*peer, *label, blocks.size(0),
            {nullptr, wanted.all * layout->size, layout, check::signature_of(wanted.type)});
    if (blocks.size(0) < skipped + count * layout->size) continue;
    std::vector<char>& into = first ? sum : next;
    const Region to{into.data() - lower, count * layout->size, layout, nullptr};
    unpack(label->data + skipped, to.bytes, to);
    if (!first) {
      using Reduce = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op);
      const int rc = singleton_function<Reduce>(Function::Reduce_local)(
          next.data() - lower, sum.data() - lower, static_cast<int>(count), wanted.type, wanted.op);
      if (rc != MPI_SUCCESS) return rc;
    }
    first = false;
  }
  std::vector<char> packed(count * layout->size);
  pack({sum.data() - lower, packed.size(), layout, nullptr}, packed.data());
  unpack(packed.data(), packed.size(), {wanted.to, packed.size(), layout, nullptr});
  return MPI_SUCCESS;
}

int run_collective(Function function, MPI_Comm comm, const Describe& describe) {
  if (!known(comm)) return raise(comm, MPI_ERR_COMM);
  Collective collective(function, comm);
  describe(collective);
  const OperationId operation = collective.begin(false);
  const Reply reply = ask(Kind::All, 0, {&operation, 1});
  return raise(comm, collective.finish(reply.reports[0].contributions));
}

int post_collective(Function function, MPI_Comm comm, const Describe& describe, MPI_Request* handle) {
  if (!known(comm)) return raise(comm, MPI_ERR_COMM);
  auto request = std::make_shared<Request>();
  request->comm = comm;
  request->collective = std::make_shared<Collective>(function, comm);
  describe(*request->collective);
  request->operation = request->collective->begin(true);
  return carry(std::move(request), handle);
}

int init_collective(Function function, MPI_Comm comm, Describe describe, MPI_Request* handle) {
  if (!known(comm)) return raise(comm, MPI_ERR_COMM);
  auto request = std::make_shared<Request>();
  request->comm = comm;
  request->persistent = true;
  request->active = false;
  request->start = [function, comm, describe = std::move(describe)](Request& started) {
    started.collective = std::make_shared<Collective>(function, comm);
    describe(*started.collective);
    started.operation = started.collective->begin(true);
  };
  return carry(std::move(request), handle);
}

std::vector<std::vector<std::uint8_t>> exchange(Function function, std::uint64_t comm, const std::vector<int>& members,
                                                std::span<const std::uint8_t> mine) {
  const std::uint64_t data = actor().allot(mine.size() + 8, static_cast<std::uint32_t>(members.size()));
  char* const to = actor().bytes(data);
  const std::uint64_t size = mine.size();
  std::memcpy(to, &size, 8);
  if (size > 0) std::memcpy(to + 8, mine.data(), mine.size());
  const OperationId operation = enter(comm, static_cast<std::uint64_t>(function), function, -1, data, members, members);
  const Reply reply = ask(Kind::All, 0, {&operation, 1});
  std::vector<std::vector<std::uint8_t>> all;
  for (const std::uint64_t there : reply.reports[0].contributions) {
    const char* const from = actor().bytes(there);
    std::uint64_t length = 0;
    std::memcpy(&length, from, 8);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(from + 8);
    all.emplace_back(bytes, bytes + length);
    actor().give_back(there);
  }
  return all;
}

void enter_without_needs(Function function, std::uint64_t comm, const std::vector<int>& members) {
  await(enter(comm, static_cast<std::uint64_t>(function), function, -1, 0, members, {}));
}

std::uint64_t next_uid(MPI_Comm comm) {
  static auto* const made = new std::unordered_map<std::uint64_t, std::uint64_t>();
  const std::uint64_t parent = communicators().uid(comm);
  std::uint64_t mixed = (parent ^ ++(*made)[parent] * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  mixed ^= mixed >> 29;
  return mixed | 1;
}

}  // namespace reprise::mpi::live
