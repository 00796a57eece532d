// Programs that show what went wrong: what is in them, and when there is none. That they run is checked elsewhere.
#include "flow/reproducer.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace reprise::flow {
namespace {

using engine::TypeTree;
using trace::IntentionForm;
using trace::Operation;
using Made = TypeTree::Made;

TypeTree named(const char* name, std::uint64_t size, std::int64_t extent = 0) {
  TypeTree tree;
  tree.made = Made::Named;
  tree.name = name;
  tree.size = size;
  tree.extent = extent == 0 ? static_cast<std::int64_t>(size) : extent;
  return tree;
}

TypeTree made(Made how, std::vector<std::int64_t> integers, std::vector<std::int64_t> addresses, std::vector<TypeTree> types) {
  TypeTree tree;
  tree.made = how;
  tree.integers = std::move(integers);
  tree.addresses = std::move(addresses);
  tree.types = std::move(types);
  return tree;
}

constexpr std::uint64_t number(Operation operation) { return 2 + static_cast<std::uint64_t>(operation); }

class ReproducerTest : public testing::Test {
 protected:
  const LoggedType* type(TypeTree tree) {
    LoggedType one;
    one.flat = engine::flatten(tree, 1u << 20);
    one.tree = std::move(tree);
    return &types_.emplace_back(std::move(one));
  }
  // Members have even ranks, so that nobody takes these for the ranks of the new program.
  const LoggedGroup* group(int size, int me, virtual_world::Topology topology = {}) {
    LoggedGroup one;
    one.uid = 7;
    one.me = me;
    for (int i = 0; i < size; ++i) one.local.push_back(2 * i);
    one.topology = std::move(topology);
    return &groups_.emplace_back(std::move(one));
  }
  // The k-th member of two groups; each has its own view.
  const LoggedGroup* across(int here, int there, int number) {
    LoggedGroup one;
    one.uid = 8;
    for (int i = 0; i < here; ++i) one.local.push_back(2 * i);
    for (int i = 0; i < there; ++i) one.remote.push_back(100 + i);
    one.me = number < here ? number : number - here;
    if (number >= here) std::swap(one.local, one.remote);
    return &groups_.emplace_back(std::move(one));
  }
  LoggedShape& shape(const std::string& call, const LoggedGroup* group, IntentionForm form = IntentionForm::Collective) {
    LoggedShape one;
    one.place = &places_.emplace_back(call + "|app.c:12");
    one.group = group;
    one.form = form;
    return shapes_.emplace_back(std::move(one));
  }
  void add(const LoggedShape& one, std::uint64_t call = 5) {
    const LoggedGroup& group = *one.group;
    violation_.members.push_back({static_cast<std::uint32_t>(group.local[static_cast<std::size_t>(group.me)]), call, &one});
  }
  void start_again() { violation_ = Violation(); }

  // Everybody gives one block to everybody.
  void exchange(const std::string& call, int ranks, const LoggedType* given, const LoggedType* taken, bool in_place = false) {
    start_again();
    for (int me = 0; me < ranks; ++me) {
      LoggedShape& one = shape(call, group(ranks, me));
      if (in_place) one.flags |= trace::kInPlace;
      for (int peer = 0; peer < ranks; ++peer) {
        one.gives.push_back({peer * given->flat.extent, 1, given});
        one.takes.push_back({peer * taken->flat.extent, 1, taken, peer, static_cast<std::uint64_t>(me)});
      }
      add(one);
    }
  }
  void reduce(const std::string& call, int ranks, const LoggedType* element, std::uint64_t operation) {
    start_again();
    for (int me = 0; me < ranks; ++me) {
      LoggedShape& one = shape(call, group(ranks, me));
      one.operation = operation;
      one.gives.push_back({0, 6, element});
      one.combines = ranks;
      one.all = one.count = 6;
      one.element = element;
      add(one);
    }
  }
  LoggedShape& sends(const std::string& call, int me, int dest, std::uint64_t count, const LoggedType* what) {
    LoggedShape& one = shape(call, group(3, me), IntentionForm::Send);
    one.dest = dest;
    one.send_tag = 17;
    one.gives.push_back({0, count, what, dest});
    return one;
  }
  LoggedShape& receives(const std::string& call, int me, int source, std::uint64_t count, const LoggedType* what) {
    LoggedShape& one = shape(call, group(3, me), IntentionForm::Receive);
    one.source = source;
    one.receive_tag = source < 0 ? -1 : 17;
    one.takes.push_back({0, count, what, source});
    return one;
  }

  std::string source(int ranks) {
    std::string why;
    const auto made = reproducer(violation_, nullptr, "reproducer-3", why);
    EXPECT_TRUE(made) << why;
    if (!made) return {};
    EXPECT_TRUE(why.empty());
    EXPECT_EQ(made->ranks, ranks);
    EXPECT_EQ(std::count(made->source.begin(), made->source.end(), '{'), std::count(made->source.begin(), made->source.end(), '}'));
    EXPECT_EQ(made->source.find('@'), std::string::npos);
    return made->source;
  }
  std::string refusal() {
    std::string why;
    const auto made = reproducer(violation_, nullptr, "reproducer-3", why);
    EXPECT_FALSE(made);
    return why;
  }
  static bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

  Violation violation_;
  std::deque<LoggedType> types_;
  std::deque<LoggedGroup> groups_;
  std::deque<LoggedShape> shapes_;
  std::deque<std::string> places_;
  const LoggedType* const int_ = type(named("MPI_INT", 4));
  const LoggedType* const column_ = type(made(Made::Vector, {3, 1, 4}, {}, {named("MPI_INT", 4)}));
};

TEST_F(ReproducerTest, SaysWhatItIsAbout) {
  exchange("MPI_Alltoall", 4, int_, int_);
  violation_.words = "unit 1\nof 2";
  const std::string text = source(4);
  EXPECT_TRUE(text.starts_with("// MPI_Alltoall with 4 ranks: other bytes.\n// unit 1 of 2\n"));
  EXPECT_TRUE(has(text, "mpicc reproducer-3.c -o reproducer-3 && mpirun -n 4 ./reproducer-3\n"));
  EXPECT_TRUE(has(text, "RANKS = 4, ROUNDS = 1,"));
}

TEST_F(ReproducerTest, WritesOnceWhatIsTheSameEverywhere) {
  exchange("MPI_Alltoall", 4, int_, int_);
  const std::string text = source(4);
  EXPECT_TRUE(has(text, "  MPI_Alltoall(given.at, 1, MPI_INT, taken.at, 1, MPI_INT, comm);\n"));
  EXPECT_FALSE(has(text, "switch (rank)"));
  EXPECT_FALSE(has(text, "gives_2"));
  EXPECT_FALSE(has(text, "takes_2"));
  EXPECT_TRUE(has(text, "{{4, 1, &layout_1}, 1, MINE}"));
  EXPECT_TRUE(has(text, "comm = MPI_COMM_WORLD;"));
}

TEST_F(ReproducerTest, MakesTypesAndWritesDownTheirBytes) {
  exchange("MPI_Alltoallw", 2, column_, column_);
  const std::string text = source(2);
  EXPECT_TRUE(has(text, "MPI_Type_vector(3, 1, 4, MPI_INT, &type_1);"));
  EXPECT_TRUE(has(text, "runs_1[] = {{0, 4, 3, 16}};"));
  EXPECT_TRUE(has(text, "layout_1 = {runs_1, 1, 36};"));
  EXPECT_TRUE(has(text, "const MPI_Datatype send_types[] = {type_1, type_1};"));
  EXPECT_TRUE(has(text, "static const int send_places[] = {0, 36};"));  // in bytes
  EXPECT_TRUE(has(text, "MPI_Type_free(&type_1);"));
}

TEST_F(ReproducerTest, CountsDisplacementsInExtents) {
  exchange("MPI_Alltoallv", 2, column_, int_);
  for (LoggedShape& one : shapes_)
    for (LoggedBlock& block : one.takes) block.count = 3, block.place = 12 * block.peer - 8;
  const std::string text = source(2);
  EXPECT_TRUE(has(text, "send_places[] = {0, 1};"));
  EXPECT_TRUE(has(text, "receive_places[] = {-2, 1};"));
  EXPECT_TRUE(has(text, ", -8, 16}"));  // bytes from the buffer
  for (LoggedShape& one : shapes_) one.takes[0].place = -7;
  EXPECT_TRUE(has(refusal(), "displacement"));
}

TEST_F(ReproducerTest, KnowsAllFormsOfACall) {
  exchange("MPI_Ialltoallw_c", 2, int_, int_);
  std::string text = source(2);
  EXPECT_TRUE(has(text, "static const MPI_Count send_counts[]"));
  EXPECT_TRUE(has(text, "static MPI_Datatype send_types[2];"));  // it must outlive the call
  EXPECT_TRUE(has(text, "MPI_Ialltoallw_c("));
  EXPECT_TRUE(has(text, "comm, &request);\n  complete(&request);"));
  exchange("MPI_Alltoall_init", 2, int_, int_);
  text = source(2);
  EXPECT_TRUE(has(text, "ROUNDS = 4"));
  EXPECT_TRUE(has(text, "comm, MPI_INFO_NULL, &request);"));
  EXPECT_TRUE(has(text, "MPI_Start(&request);"));
  exchange("MPI_Alltoallv", 2, int_, int_, true);
  text = source(2);
  EXPECT_TRUE(has(text, "MPI_Alltoallv(MPI_IN_PLACE, receive_counts, receive_places, MPI_INT, taken.at,"));
}

TEST_F(ReproducerTest, OnlyTheRootHasAllArguments) {
  for (int me = 0; me < 3; ++me) {
    LoggedShape& one = shape("MPI_Gatherv", group(3, me));
    one.root = 1;
    if (me == 1) one.flags = trace::kInPlace;
    one.gives.push_back({me == 1 ? 4 : 0, 1, int_, me == 1 ? 1 : -1});
    for (int peer = 0; me == 1 && peer < 3; ++peer) one.takes.push_back({4 * peer, 1, int_, peer, 0, peer == 1});
    add(one);
  }
  const std::string text = source(3);
  EXPECT_TRUE(has(text, "  if (rank == 1) {\n"));
  EXPECT_TRUE(has(text, "MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, taken.at, receive_counts, receive_places, MPI_INT, 1, comm);"));
  EXPECT_TRUE(has(text, "MPI_Gatherv(given.at, 1, MPI_INT, NULL, NULL, NULL, MPI_INT, 1, comm);"));
}

TEST_F(ReproducerTest, AcrossTwoGroups) {
  for (int rank = 0; rank < 5; ++rank) {
    LoggedShape& one = shape("MPI_Bcast", across(2, 3, rank));
    one.root = rank >= 2 ? 1 : rank == 1 ? -2 : -3;
    if (rank == 1) one.gives.push_back({0, 2, int_});
    if (rank >= 2) one.takes.push_back({0, 2, int_, 1});
    add(one);
  }
  const std::string text = source(5);
  EXPECT_TRUE(has(text, "MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 0, &comm);"));
  EXPECT_TRUE(has(text, "MPI_Bcast(NULL, 0, MPI_BYTE, MPI_PROC_NULL, comm);"));
  EXPECT_TRUE(has(text, "MPI_Bcast(given.at, 2, MPI_INT, MPI_ROOT, comm);"));
  EXPECT_TRUE(has(text, "MPI_Bcast(given.at, 2, MPI_INT, 1, comm);"));
  EXPECT_TRUE(has(text, "{{0, 2, &layout_1}, 1, 0}"));
}

TEST_F(ReproducerTest, NeighboursOnAGridThatEnds) {
  const virtual_world::Cartesian line{{3}, {false}};
  for (int me = 0; me < 3; ++me) {
    LoggedShape& one = shape("MPI_Neighbor_alltoallv", group(3, me, line));
    for (int side = 0; side < 2; ++side) {
      const int peer = me + 2 * side - 1;
      const bool is_there = peer >= 0 && peer < 3;
      one.gives.push_back(is_there ? LoggedBlock{8 * side, 1, int_, peer} : LoggedBlock{-4711, 0, column_, -1});
      if (is_there) one.takes.push_back({4 * side, 1, int_, peer, static_cast<std::uint64_t>(1 - side)});
    }
    add(one);
  }
  const std::string text = source(3);
  EXPECT_TRUE(has(text, "dims[] = {3};"));
  EXPECT_TRUE(has(text, "periods[] = {0};"));
  EXPECT_TRUE(has(text, "MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);"));
  EXPECT_TRUE(has(text, "send_counts[] = {0, 1};"));
  EXPECT_TRUE(has(text, "send_places[] = {0, 2};"));
  EXPECT_FALSE(has(text, "4711"));
  EXPECT_FALSE(has(text, "type_"));  // that of the edge that is not there
}

TEST_F(ReproducerTest, NeighboursInGraphs) {
  const auto gather = [&](auto topology) {
    start_again();
    for (int me = 0; me < 2; ++me) {
      LoggedShape& one = shape("MPI_Neighbor_allgather", group(2, me, topology(me)));
      one.gives.push_back({0, 1, int_});
      one.takes.push_back({0, 1, int_, 1 - me});
      add(one);
    }
    return source(2);
  };
  std::string text = gather([](int) { return virtual_world::Graph{{1, 2}, {1, 0}}; });
  EXPECT_TRUE(has(text, "ends[] = {1, 2};"));
  EXPECT_TRUE(has(text, "MPI_Graph_create(MPI_COMM_WORLD, RANKS, ends, edges, 0, &comm);"));
  text = gather([](int me) { return virtual_world::DistributedGraph{{1 - me}, {}, {1 - me}, {}, false}; });
  EXPECT_TRUE(has(text, "MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations,"));
  EXPECT_TRUE(has(text, "sources[] = {1};"));
  EXPECT_TRUE(has(text, "sources[] = {0};"));
  EXPECT_TRUE(has(text, "if (rank == 0)"));
}

TEST_F(ReproducerTest, Reductions) {
  reduce("MPI_Allreduce", 4, int_, number(Operation::Sum));
  std::string text = source(4);
  EXPECT_TRUE(has(text, "MPI_Allreduce(given.at, taken.at, 6, MPI_INT, MPI_SUM, comm);"));
  EXPECT_TRUE(has(text, "typedef int32_t element;"));
  EXPECT_TRUE(has(text, "{6, 6, 0, 0, 4, 0, 0, 24, 0, 24},"));
  reduce("MPI_Iallreduce", 4, type(named("MPI_DOUBLE_INT", 12, 16)), number(Operation::Maxloc));
  text = source(4);
  EXPECT_TRUE(has(text, "double value;"));
  EXPECT_TRUE(has(text, "a.value > b.value"));
  reduce("MPI_Reduce_scatter", 2, int_, number(Operation::Bor));
  for (std::size_t i = 0; i < 2; ++i) {
    LoggedShape& one = shapes_[shapes_.size() - 2 + i];
    one.count = i == 0 ? 2 : 4;
    one.first = i == 0 ? 0 : 2;
  }
  EXPECT_TRUE(has(source(2), "receive_counts[] = {2, 4};"));
}

TEST_F(ReproducerTest, WhatCannotBeReduced) {
  reduce("MPI_Allreduce", 2, int_, 1);
  EXPECT_EQ(refusal(), "the operation is the program's own");
  reduce("MPI_Allreduce", 2, type(named("MPI_DOUBLE", 8)), number(Operation::Band));
  EXPECT_TRUE(has(refusal(), "does not say"));
  reduce("MPI_Allreduce", 2, column_, number(Operation::Sum));
  EXPECT_TRUE(has(refusal(), "type that is not known"));
  reduce("MPI_Allreduce", 2, int_, number(Operation::Sum));
  shapes_.back().gives[0].count = 5;
  EXPECT_TRUE(has(refusal(), "do not agree"));
}

TEST_F(ReproducerTest, MessagesKeepTheirWildcards) {
  add(sends("MPI_Isend", 1, 2, 3, int_));
  add(receives("MPI_Recv", 2, -1, 2, column_));
  const std::string text = source(2);
  EXPECT_TRUE(has(text, "MPI_Isend(given.at, 3, MPI_INT, 1, 17, comm, &send_request);"));
  EXPECT_TRUE(has(text, "MPI_Recv(taken.at, 2, type_2, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);"));
  EXPECT_TRUE(has(text, "check_status(&status, 0, 17, type_2, 1);"));
}

TEST_F(ReproducerTest, MessagesInAllForms) {
  const std::vector<std::string> all_sends = {"Send",  "Ssend",      "Bsend",      "Rsend",      "Isend",      "Issend",  "Ibsend",
                                              "Irsend", "Send_init", "Ssend_init", "Bsend_init", "Rsend_init", "Send_c"};
  for (const std::string& send : all_sends)
    for (const char* const receive : {"Recv", "Irecv", "Recv_init", "Mrecv", "Imrecv", "Recv_c"}) {
      start_again();
      add(sends("MPI_" + send, 0, 1, 3, int_));
      add(receives(std::string("MPI_") + receive, 1, 0, 3, int_));
      const bool ready = has(send, "rsend") || has(send, "Rsend");
      if (ready && !has(receive, "Irecv") && !has(receive, "_init")) {
        EXPECT_TRUE(has(refusal(), "ready send")) << send << receive;
        continue;
      }
      const std::string text = source(2);
      EXPECT_TRUE(has(text, "MPI_" + send + "(given.at, 3, MPI_INT, 1, 17, comm")) << send;
      EXPECT_TRUE(has(text, std::string("MPI_") + receive + "(taken.at, 3, MPI_INT, ")) << receive;
      const bool has_request = has(send + receive, "_init") || send[0] == 'I' || receive[0] == 'I';
      EXPECT_EQ(has(text, "ROUNDS = 4"), has_request) << send << receive;
      EXPECT_EQ(has(text, "status = complete(&receive_request);"), has(receive, "_init") || receive[0] == 'I');
      EXPECT_EQ(has(text, "MPI_Buffer_attach"), has(send, "bsend") || has(send, "Bsend"));
      EXPECT_EQ(has(text, "MPI_Mprobe"), has(receive, "mrecv") || has(receive, "Mrecv"));
    }
}

TEST_F(ReproducerTest, BothHalvesOfAnExchangeIfTheyFit) {
  const auto both = [&](int me, int dest, int source, const LoggedType* what) -> LoggedShape& {
    LoggedShape& one = sends("MPI_Sendrecv_replace", me, dest, 2, what);
    one.form = IntentionForm::SendReceive;
    one.source = source;
    one.receive_tag = 17;
    one.flags = trace::kReplaces;
    one.takes.push_back({0, 2, what, source});
    return one;
  };
  // A ring: what the receiver sends goes to somebody else, but the sender would have understood it.
  add(both(0, 1, 2, int_));
  add(both(1, 2, 0, int_));
  EXPECT_TRUE(has(source(2), "MPI_Sendrecv_replace(given.at, 2, MPI_INT, 1, 17, 1, 17, comm, &status);"));
  start_again();
  add(both(0, 1, 2, int_));
  add(receives("MPI_Recv", 1, 0, 2, int_));
  const std::string text = source(2);
  EXPECT_TRUE(has(text, "MPI_Sendrecv_replace(given.at, 2, MPI_INT, 1, 17, 1, 17, comm, &status);"));
  EXPECT_TRUE(has(text, "MPI_Recv(taken.at, 2, MPI_INT, 0, 17, comm, &status);\n    check_status(&status, 0, 17, MPI_INT, 2);\n"
                        "    MPI_Send(given.at, 2, MPI_INT, 0, 17, comm);"));
  start_again();
  add(sends("MPI_Send", 0, 1, 2, int_));
  add(both(1, 2, 0, int_));
  EXPECT_TRUE(has(source(2), "MPI_Irecv(taken.at, 2, MPI_INT, 1, 17, comm, &other_request);\n    MPI_Send(given.at, 2, MPI_INT, 1, 17, comm);\n"
                             "    MPI_Wait(&other_request, MPI_STATUS_IGNORE);"));
}

TEST_F(ReproducerTest, MessagesToOneself) {
  add(sends("MPI_Isend", 1, 1, 3, int_), 5);
  add(receives("MPI_Recv", 1, 1, 3, int_), 6);
  std::string text = source(1);
  EXPECT_LT(text.find("MPI_Isend("), text.find("MPI_Recv("));
  start_again();
  add(sends("MPI_Ssend", 1, 1, 3, int_), 6);
  add(receives("MPI_Irecv", 1, 1, 3, int_), 5);
  text = source(1);
  EXPECT_LT(text.find("MPI_Irecv("), text.find("MPI_Ssend("));
  start_again();
  add(sends("MPI_Ssend", 1, 1, 3, int_), 5);
  add(receives("MPI_Recv", 1, 1, 3, int_), 6);
  EXPECT_TRUE(has(refusal(), "threads"));
}

TEST_F(ReproducerTest, ASenderThatNobodyKnowsIsInvented) {
  add(receives("MPI_Irecv", 1, -1, 3, int_));
  const std::string text = source(2);
  EXPECT_TRUE(has(text, "// Who sent the message is not known"));
  EXPECT_TRUE(has(text, "MPI_Send(given.at, 3, MPI_INT, 1, 0, comm);"));
  EXPECT_TRUE(has(text, "MPI_Irecv(taken.at, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receive_request);"));
}

TEST_F(ReproducerTest, AccessesToWindows) {
  const auto accesses = [&](const std::string& call, int dest, const LoggedType* what, std::uint64_t operation = 0) {
    start_again();
    LoggedShape& one = shape(call, group(3, 1), IntentionForm::Access);
    one.dest = dest;
    one.operation = operation;
    one.gives.push_back({0, 4, what, dest});
    add(one);
  };
  accesses("MPI_Put", 2, column_);
  std::string text = source(2);
  EXPECT_TRUE(has(text, "enum { ORIGIN = 1, TARGET = 0 };"));
  EXPECT_TRUE(has(text, "MPI_Put(given.at, 4, type_1, TARGET, 64, 4, type_1, window);"));
  EXPECT_TRUE(has(text, "ROUNDS = 3"));
  EXPECT_TRUE(has(text, "MPI_Win_create(taken.at - 64, rank == TARGET ? 272 : 0, 1, MPI_INFO_NULL, comm, &window);"));
  for (const char* const way : {"MPI_Win_fence", "MPI_Win_post", "MPI_Win_lock"}) EXPECT_TRUE(has(text, way)) << way;
  accesses("MPI_Get", 1, int_);
  text = source(2);
  EXPECT_TRUE(has(text, "enum { ORIGIN = 0, TARGET = 0 };"));
  EXPECT_TRUE(has(text, "MPI_Get(taken.at, 4, MPI_INT, TARGET, 64, 4, MPI_INT, window);"));
  accesses("MPI_Raccumulate", 2, int_, number(Operation::Sum));
  text = source(2);
  EXPECT_TRUE(has(text, "MPI_Raccumulate(given.at, 4, MPI_INT, TARGET, 64, 4, MPI_INT, MPI_SUM, window, &request);"));
  EXPECT_TRUE(has(text, "ROUNDS = 1"));  // such calls need a lock
  EXPECT_TRUE(has(text, "fill_window();"));
  EXPECT_TRUE(has(text, "return i * (long long)sizeof(element);"));
  accesses("MPI_Accumulate", 2, column_, number(Operation::Bxor));
  text = source(2);
  EXPECT_TRUE(has(text, "const struct layout* layout = &layout_1;"));
  EXPECT_TRUE(has(text, "byte % 12;"));
  EXPECT_TRUE(has(text, "{12, 0, 0, 0, 0, 0, 0, 144, 0, 0},"));
  accesses("MPI_Accumulate", 2, type(made(Made::Struct, {2, 1, 1}, {0, 8}, {named("MPI_INT", 4), named("MPI_DOUBLE", 8)})),
           number(Operation::Replace));
  EXPECT_TRUE(has(refusal(), "several"));
  accesses("MPI_Fetch_and_op", 2, int_, number(Operation::Sum));
  EXPECT_TRUE(has(refusal(), "MPI_Fetch_and_op"));
}

TEST_F(ReproducerTest, ADatatypeAlone) {
  std::string why;
  violation_.kind = Violation::Kind::Type;
  const auto made = reproducer(violation_, column_, "reproducer-3", why);
  ASSERT_TRUE(made) << why;
  EXPECT_EQ(made->ranks, 1);
  EXPECT_TRUE(has(made->source, "MPI_Pack(given.at, 1, type_1, taken.at, 12 + GUARD, &place, comm);"));
}

TEST_F(ReproducerTest, WhatIsMissing) {
  EXPECT_EQ(refusal(), "it is not about a call");
  add(sends("MPI_Send", 1, 0, 3, int_));
  EXPECT_EQ(refusal(), "who received the message is not known");
  exchange("MPI_Alltoall", 3, int_, int_);
  violation_.members.pop_back();
  EXPECT_EQ(refusal(), "what rank 4 did in this call is not known");
  exchange("MPI_Alltoall", 3, int_, int_);
  violation_.excuse = "it changed what it sent";
  EXPECT_TRUE(has(refusal(), "it changed what it sent"));
  exchange("MPI_Barrier", 3, int_, int_);
  EXPECT_TRUE(has(refusal(), "MPI_Barrier"));
}

TEST_F(ReproducerTest, WhatMakesNoSense) {
  exchange("MPI_Alltoall", 2, int_, int_);
  shapes_.back().takes[0].count = 2;
  EXPECT_TRUE(has(refusal(), "how much is sent"));
  exchange("MPI_Alltoallw", 2, int_, int_);
  shapes_.back().takes[1].place = 2;
  EXPECT_TRUE(has(refusal(), "same memory"));
  exchange("MPI_Alltoallw", 2, int_, int_);
  shapes_.back().takes[1].place = std::int64_t{1} << 50;
  EXPECT_TRUE(has(refusal(), "spread"));
  exchange("MPI_Alltoallw", 2, int_, int_);
  shapes_.back().takes[1].place = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(has(refusal(), "bounds"));
  exchange("MPI_Alltoall", 2, type(TypeTree()), int_);
  EXPECT_EQ(refusal(), "a datatype cannot be taken apart");
  exchange("MPI_Alltoall", 2, type(named("system(0)", 4)), int_);
  EXPECT_EQ(refusal(), "a datatype cannot be taken apart");
  exchange("MPI_Alltoall", 2, int_, int_);
  groups_.back().topology = virtual_world::Cartesian{{5}, {true}};
  EXPECT_TRUE(has(refusal(), "who they are"));
  exchange("MPI_Alltoall", 2, int_, int_);
  for (LoggedGroup& one : groups_) one.topology = virtual_world::Graph{{4, 2}, {1, 0}};
  EXPECT_TRUE(has(refusal(), "topology"));
}

}  // namespace
}  // namespace reprise::flow
