// A message as a program of its own: two ranks, the sender and the receiver, or one that sends to itself.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "flow/reproducer_parts.hpp"

namespace reprise::flow::reproducing {
namespace {

struct MessageCall {
  std::string_view body;
  bool sends = false;
  bool receives = false;
  bool replaces = false;
};
constexpr MessageCall kMessageCalls[] = {
    {"send", true},         {"ssend", true},        {"bsend", true},          {"rsend", true},
    {"recv", false, true},  {"mrecv", false, true}, {"sendrecv", true, true}, {"sendrecv_replace", true, true, true},
};

struct Called {
  const LoggedShape* shape = nullptr;
  MessageCall call;
  Mode mode = Mode::Blocking;
  bool large = false;
};
Called called(const LoggedShape& shape) {
  for (const Form& form : forms_of(shape.call())) {
    const auto* const found = std::ranges::find(kMessageCalls, std::string_view(form.body), &MessageCall::body);
    if (found != std::end(kMessageCalls)) return {&shape, *found, form.mode, form.large};
  }
  throw Impossible{fmt::format("nobody has said how to make the call {}", shape.call())};
}

// Whom one call of the new program sends to and hears; -1: nobody.
struct Line {
  int to = -1;
  int from = -1;
  const LoggedBlock* comes = nullptr;  // what it hears, as the sender gives it
  int tag = 0;                         // of that
};

// Statements: before all rounds, those that begin the operation, those that complete it, and after all rounds.
struct Steps {
  std::string prepare, begin, finish, release;
};

class MessageWriter {
 public:
  explicit MessageWriter(Plan& plan) : plan_(plan) {}

  Steps steps(const Called& called, const Line& line, const std::string& request) {
    const LoggedShape& shape = *called.shape;
    const std::string name = shape.call();
    const bool hears = line.from >= 0;
    const std::string status = hears ? "&status" : "MPI_STATUS_IGNORE";
    const std::string check = hears ? fmt::format("  check_status(&status, {}, {}, {});\n", line.from, line.tag, bytes_of(*line.comes)) : "";
    const bool blocking = called.mode == Mode::Blocking;
    const bool sends_only = !called.call.receives;
    const std::string end = blocking ? (sends_only ? "" : ", " + status) : ", &" + request;
    std::string call;
    Steps steps;
    if (called.call.body == "mrecv") {
      steps.begin = fmt::format("  MPI_Message message;\n  MPI_Mprobe({}, comm, &message, &status);\n{}", source(shape, line), check);
      call = fmt::format("{}({}, &message{})", name, room(called, "taken.at", shape.takes), end);
    } else if (called.call.replaces) {
      const auto& blocks = shape.gives.empty() ? shape.takes : shape.gives;
      call = fmt::format("{}({}, {}, {}, comm{})", name, room(called, "given.at", blocks), destination(shape, line),
                         source(shape, line), end);
    } else if (called.call.sends && called.call.receives) {
      call = fmt::format("{}({}, {}, {}, {}, comm{})", name, room(called, "given.at", shape.gives), destination(shape, line),
                         room(called, "taken.at", shape.takes), source(shape, line), end);
    } else if (called.call.sends) {
      call = fmt::format("{}({}, {}, comm{})", name, room(called, "given.at", shape.gives), destination(shape, line), end);
    } else {
      call = fmt::format("{}({}, {}, comm{})", name, room(called, "taken.at", shape.takes), source(shape, line), end);
    }
    call = wrapped("  " + call + ";");
    const std::string wait = fmt::format("  MPI_Wait(&{}, {});\n", request, sends_only ? "MPI_STATUS_IGNORE" : status);
    switch (called.mode) {
      case Mode::Blocking: steps.begin += call + check; break;
      case Mode::Nonblocking:
        steps.begin += call;
        steps.finish = wait + check;
        break;
      case Mode::Persistent:
        steps.prepare = call;
        steps.begin = fmt::format("  MPI_Start(&{});\n", request);
        steps.finish = wait + check;
        steps.release = fmt::format("  MPI_Request_free(&{});\n", request);
        break;
    }
    if (called.call.body == "bsend") attach(shape, steps);
    return steps;
  }

 private:
  std::string room(const Called& called, const char* buffer, const std::vector<LoggedBlock>& blocks) {
    if (blocks.empty()) return "NULL, 0, MPI_BYTE";
    const std::uint64_t most = called.large ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<int>::max();
    if (blocks[0].count > most) throw Impossible{"a count is too large for an int"};
    return fmt::format("{}, {}, {}", buffer, blocks[0].count, plan_.types.handle(blocks[0]));
  }
  static std::string destination(const LoggedShape& shape, const Line& line) {
    return fmt::format("{}, {}", line.to < 0 ? "MPI_PROC_NULL" : fmt::format("{}", line.to), shape.send_tag);
  }
  static std::string source(const LoggedShape& shape, const Line& line) {
    const std::string from = line.from < 0 ? "MPI_PROC_NULL" : shape.source < 0 ? "MPI_ANY_SOURCE" : fmt::format("{}", line.from);
    return fmt::format("{}, {}", from, shape.receive_tag < 0 ? "MPI_ANY_TAG" : fmt::format("{}", shape.receive_tag));
  }
  // Some of what earlier rounds sent may still be there.
  void attach(const LoggedShape& shape, Steps& steps) const {
    const std::int64_t each = sum(bytes_of(shape.gives[0]), 4096);
    if (product(each, plan_.starts + 1) > std::numeric_limits<int>::max()) throw Impossible{"too much for a buffered send"};
    steps.prepare = fmt::format(
                        "  const int room = STARTS * ({} + MPI_BSEND_OVERHEAD);\n"
                        "  MPI_Buffer_attach(malloc((size_t)room), room);\n", each) +
                    steps.prepare;
    steps.release += "  void* attached;\n  int room;\n  MPI_Buffer_detach(&attached, &room);\n  free(attached);\n";
  }

  Plan& plan_;
};

bool fits(const LoggedShape& giver, const LoggedShape& taker) {
  return bytes_of(giver.gives[0]) <= bytes_of(taker.takes[0]) &&
         (taker.receive_tag < 0 || taker.receive_tag == giver.send_tag);
}

bool is_same_type(const LoggedBlock& one, const LoggedBlock& other) {
  return one.type == other.type || (one.type && other.type && one.type->tree == other.type->tree);
}

bool is_peer(const LoggedGroup& group, int number, std::uint32_t world_rank) {
  const auto& peers = group.peers();
  return number >= 0 && static_cast<std::size_t>(number) < peers.size() &&
         peers[static_cast<std::size_t>(number)] == static_cast<int>(world_rank);
}

// Both make calls that send and receive: the receiver's message can go back if the two did talk to each other, or would
// have understood each other.
bool goes_back(const Part& sender, const Called& sending, const Part& receiver, const Called& receiving) {
  if (!sending.call.receives || !receiving.call.sends || sending.shape->takes.empty() || receiving.shape->gives.empty())
    return false;
  const LoggedShape& giver = *receiving.shape;
  const LoggedShape& taker = *sending.shape;
  const bool each_other = is_peer(*giver.group, giver.dest, sender.rank) &&
                          (taker.source < 0 || is_peer(*taker.group, taker.source, receiver.rank));
  return fits(giver, taker) && (each_other || is_same_type(giver.gives[0], taker.takes[0]));
}

class MessagePlan {
 public:
  explicit MessagePlan(const Violation& violation)
      : sender_(violation.members.front()), receiver_(violation.members.back()), sending_(called(*sender_.shape)),
        receiving_(called(*receiver_.shape)) {
    if (violation.members.size() > 2) throw Impossible{"a message has one sender and one receiver"};
    const LoggedShape& from = *sender_.shape;
    const LoggedShape& to = *receiver_.shape;
    // One call is enough if it sends to itself.
    const bool is_whole = violation.members.size() == 2 || (sending_.call.sends && sending_.call.receives && to.source == from.dest &&
                                                            !from.group->inter() && is_peer(*from.group, from.dest, sender_.rank));
    if (!is_whole) throw Impossible{sending_.call.sends ? "who received the message is not known" : "who sent the message is not known"};
    if (!sending_.call.sends || !receiving_.call.receives || from.gives.size() != 1 || to.takes.size() != 1)
      throw Impossible{"a message has one sender and one receiver"};
    if (!fits(from, to)) throw Impossible{"the receive does not fit the message"};
    plan_.is_message = true;
    if (sending_.mode == Mode::Persistent || receiving_.mode == Mode::Persistent) plan_.starts = 3;
  }

  Plan make() {
    if (sender_.rank == receiver_.rank) to_itself();
    else between_two();
    for (Member& member : plan_.members) {
      member.given = span_of(member.gives, member.one_buffer ? member.takes : std::vector<Take>());
      if (!member.one_buffer) member.taken = span_of({}, member.takes);
    }
    return std::move(plan_);
  }

 private:
  const LoggedShape& from() const { return *sending_.shape; }
  const LoggedShape& to() const { return *receiving_.shape; }

  void put(Member& member, const Steps& steps) {
    member.prepare += steps.prepare;
    member.release += steps.release;
  }

  void to_itself() {
    Member member;
    member.shape = sending_.shape;
    member.gives = from().gives;
    member.takes = {{to().takes[0], 0, 0, false}};
    MessageWriter writer(plan_);
    const Line both{0, 0, &from().gives[0], from().send_tag};
    if (sender_.call == receiver_.call || sender_.shape == receiver_.shape) {
      member.one_buffer = sending_.call.replaces;
      const Steps steps = writer.steps(sending_, both, "request");
      put(member, steps);
      member.communicate = steps.begin + steps.finish;
    } else {
      if (sending_.call.replaces || receiving_.call.replaces) throw Impossible{"a process sends to itself in a way that needs threads"};
      const Steps send = writer.steps(sending_, {0, -1, nullptr, 0}, "send_request");
      const Steps receive = writer.steps(receiving_, {-1, 0, both.comes, both.tag}, "receive_request");
      // A matched receive waits for its message before it begins.
      const bool receive_first = receiving_.mode != Mode::Blocking && receiving_.call.body != "mrecv";
      const bool needs_receive =
          sending_.call.body == "rsend" || (sending_.call.body == "ssend" && sending_.mode == Mode::Blocking);
      if (needs_receive && !receive_first)
        throw Impossible{"a process sends to itself in a way that needs threads"};
      put(member, send);
      put(member, receive);
      member.communicate = receive_first ? receive.begin + send.begin + receive.finish + send.finish
                                         : send.begin + receive.begin + receive.finish + send.finish;
    }
    plan_.members.push_back(std::move(member));
  }

  void between_two() {
    const bool inter = from().group->inter();
    const int first = 0;
    const int second = inter ? 0 : 1;  // each is the only one of its group
    plan_.local = inter ? 1 : 0;
    const bool back = goes_back(sender_, sending_, receiver_, receiving_);
    MessageWriter writer(plan_);
    Line there{second, -1, nullptr, 0};
    Line here{-1, first, &from().gives[0], from().send_tag};
    if (back) {
      there = {second, second, &to().gives[0], to().send_tag};
      here.to = first;
    }
    plan_.members.resize(2);
    for (int rank = 0; rank < 2; ++rank) {
      Member& member = plan_.members[static_cast<std::size_t>(rank)];
      const Called& own = rank == 0 ? sending_ : receiving_;
      member.shape = own.shape;
      member.gives = own.shape->gives;
      member.one_buffer = own.call.replaces;
      const bool takes = rank == 1 || back;
      if (takes) member.takes = {{own.shape->takes[0], 1 - rank, 0, false}};
      const std::string request = !own.call.receives ? "send_request" : !own.call.sends ? "receive_request" : "request";
      const Steps steps = writer.steps(own, rank == 0 ? there : here, request);
      put(member, steps);
      member.communicate = with_leave(rank, steps);
    }
  }

  // A ready send needs a receive that is there already.
  std::string with_leave(int rank, const Steps& steps) const {
    if (sending_.call.body != "rsend") return steps.begin + steps.finish;
    const bool blocking = receiving_.mode == Mode::Blocking || receiving_.call.body == "mrecv";
    if (rank == 1) {
      const std::string leave = "  MPI_Send(NULL, 0, MPI_BYTE, 0, 1, control);\n";
      return blocking ? leave + steps.begin + steps.finish : steps.begin + leave + steps.finish;
    }
    const std::string ask = "  MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, control, MPI_STATUS_IGNORE);\n";
    const std::string time = "  for (const double now = MPI_Wtime(); MPI_Wtime() < now + 0.1;) continue;  // it is about to receive\n";
    return ask + (blocking ? time : "") + steps.begin + steps.finish;
  }

  const Part& sender_;
  const Part& receiver_;
  Called sending_;
  Called receiving_;
  Plan plan_;
};

}  // namespace

Plan message_plan(const Violation& violation) { return MessagePlan(violation).make(); }

}  // namespace reprise::flow::reproducing
