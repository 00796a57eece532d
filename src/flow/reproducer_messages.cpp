// A message as a program of its own: two ranks, the sender and the receiver, or one that sends to itself.
//
// A call that sends and receives (MPI_Sendrecv, MPI_Isendrecv ...) has a second message, which may have been somebody else's. It is
// part of the call all the same: if what the other call sends does not fit, the other rank sends or receives it apart.
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
  std::int64_t bytes = 0;  // of what it hears
  int tag = 0;             // the same
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
    const std::string check = hears ? check_status(shape.takes[0], line) : "";
    const bool blocking = called.mode == Mode::Blocking;
    const std::string end = !blocking ? ", &" + request : !called.call.receives ? "" : hears ? ", &status" : ", MPI_STATUS_IGNORE";
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
    if (blocking) {
      steps.begin += call + check;
    } else {
      const bool persistent = called.mode == Mode::Persistent;
      (persistent ? steps.prepare : steps.begin) += call;
      if (persistent) steps.begin += fmt::format("  MPI_Start(&{});\n", request);
      steps.finish = fmt::format("  {}complete(&{});\n{}", hears ? "status = " : "", request, check);
      if (persistent) steps.release = fmt::format("  MPI_Request_free(&{});\n", request);
    }
    if (called.call.body == "bsend") attach(shape, steps);
    return steps;
  }

  // Messages beside the call, in the same buffers.
  std::string receive_apart(const LoggedBlock& block, int from, int tag) {
    return wrapped(fmt::format("  MPI_Irecv({}, {}, {}, comm, &other_request);", apart("taken.at", block), from, tag));
  }
  std::string send_apart(const LoggedBlock& block, int to, int tag) {
    return wrapped(fmt::format("  MPI_Send({}, {}, {}, comm);", apart("given.at", block), to, tag));
  }

 private:
  // MPI_Get_count wants the datatype of the receive, but cannot count parts of an element.
  std::string check_status(const LoggedBlock& room, const Line& line) {
    const std::int64_t size = room.count > 0 ? static_cast<std::int64_t>(room.type->flat.size) : 1;
    const std::int64_t count = size > 0 ? line.bytes / size : 0;
    const bool whole = count * size == line.bytes;
    if (line.bytes > std::numeric_limits<int>::max()) throw Impossible{"a message of more than 2 GiB"};
    return fmt::format("  check_status(&status, {}, {}, {}, {});{}\n", line.from, line.tag, whole ? plan_.types.handle(room) : "MPI_BYTE",
                       whole ? count : line.bytes, whole ? "" : "  // no whole number of elements");
  }
  std::string room(const Called& called, const char* buffer, const std::vector<LoggedBlock>& blocks) {
    if (blocks.empty()) return "NULL, 0, MPI_BYTE";
    const std::uint64_t most = called.large ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<int>::max();
    if (blocks[0].count > most) throw Impossible{"a count is too large for an int"};
    return fmt::format("{}, {}, {}", buffer, blocks[0].count, plan_.types.handle(blocks[0]));
  }
  std::string apart(const char* buffer, const LoggedBlock& block) {
    if (block.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) throw Impossible{"a count is too large for an int"};
    return fmt::format("{}{}, {}, {}", buffer, block.place == 0 ? "" : fmt::format(" + {}", block.place), block.count,
                       plan_.types.handle(block));
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
    if (product(each, plan_.rounds + 1) > std::numeric_limits<int>::max()) throw Impossible{"too much for a buffered send"};
    steps.prepare = fmt::format(
                        "  const int room = ROUNDS * ({} + MPI_BSEND_OVERHEAD);\n"
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

// Behind everything else in its buffer.
LoggedBlock placed_behind(LoggedBlock block, const Span& all) {
  constexpr std::int64_t kGap = 64;
  block.place = 0;
  if (all.from == all.to) return block;
  const std::int64_t free = sum(all.to, -span_of({block}, {}).from);
  block.place = sum((free + kGap - 1) / kGap * kGap, kGap);
  return block;
}

class MessagePlan {
 public:
  explicit MessagePlan(const Violation& violation)
      : sender_(violation.members.front()), receiver_(violation.members.back()), receiving_(called(*receiver_.shape)) {
    if (violation.members.size() > 2) throw Impossible{"a message has one sender and one receiver"};
    if (violation.members.size() == 1 && !is_to_itself(receiver_)) invent_sender();
    sending_ = called(*sender_.shape);
    if (!sending_.call.sends || !receiving_.call.receives || from().gives.size() != 1 || to().takes.size() != 1)
      throw Impossible{"a message has one sender and one receiver"};
    if (!fits(from(), to())) throw Impossible{"the receive does not fit the message"};
    plan_.is_message = true;
    if (sending_.mode != Mode::Blocking || receiving_.mode != Mode::Blocking) plan_.rounds = kRounds;
  }

  Plan make() {
    if (sender_.rank == receiver_.rank) to_itself();
    else between_two();
    for (Member& member : plan_.members) {
      member.given = given_span(member);
      if (!member.one_buffer) member.taken = span_of({}, member.takes);
    }
    return std::move(plan_);
  }

 private:
  const LoggedShape& from() const { return *sending_.shape; }
  const LoggedShape& to() const { return *receiving_.shape; }

  static bool is_to_itself(const Part& part) {
    const LoggedShape& shape = *part.shape;
    return !shape.gives.empty() && !shape.takes.empty() && shape.source == shape.dest && !shape.group->inter() &&
           is_peer(*shape.group, shape.dest, part.rank);
  }

  // What is wrong with a receive may be seen whoever has sent something to it.
  void invent_sender() {
    if (!receiving_.call.receives || to().takes.size() != 1) throw Impossible{"who received the message is not known"};
    static const std::string kPlace = "MPI_Send|";
    plan_.remark = "Who sent the message is not known; here it is MPI_Send, and as much as there is room for.";
    plan_.invented = std::make_shared<LoggedShape>();
    LoggedShape& sender = *plan_.invented;
    sender.place = &kPlace;
    sender.group = to().group;
    sender.form = trace::IntentionForm::Send;
    sender.send_tag = std::max(to().receive_tag, 0);
    sender.gives = to().takes;
    sender_.shape = &sender;
    sender_.rank = receiver_.rank + 1;
  }

  static Span given_span(const Member& member) {
    return span_of(member.gives, member.one_buffer ? member.takes : std::vector<Take>());
  }

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
    const Line both{0, 0, bytes_of(from().gives[0]), from().send_tag};
    if (sender_.call == receiver_.call || sender_.shape == receiver_.shape) {
      member.one_buffer = sending_.call.replaces;
      const Steps steps = writer.steps(sending_, both, "request");
      put(member, steps);
      member.communicate = steps.begin + steps.finish;
    } else {
      if (sending_.call.replaces || receiving_.call.replaces) throw Impossible{"a process sends to itself in a way that needs threads"};
      const Steps send = writer.steps(sending_, {0, -1, 0, 0}, "send_request");
      const Steps receive = writer.steps(receiving_, {-1, 0, both.bytes, both.tag}, "receive_request");
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
    plan_.members.resize(2);
    Member& giver = plan_.members[0];
    Member& taker = plan_.members[1];
    giver.shape = &from();
    taker.shape = &to();
    giver.one_buffer = sending_.call.replaces;
    taker.one_buffer = receiving_.call.replaces;
    giver.gives = from().gives;
    taker.gives = to().gives;
    taker.takes = {{to().takes[0], 0, 0, false}};
    Line there{second, -1, 0, 0};
    Line here{-1, first, bytes_of(from().gives[0]), from().send_tag};
    MessageWriter writer(plan_);
    std::string received_apart, sent_apart;
    if (back) {
      there = {second, second, bytes_of(to().gives[0]), to().send_tag};
      here.to = first;
      giver.takes = {{from().takes[0], 1, 0, false}};
    } else {
      // The order of these matters: the first message to the sender is what the receiver's call sends.
      if (sending_.call.receives && !from().takes.empty()) {
        const LoggedBlock block = placed_behind(from().takes[0], given_span(taker));
        there = {second, second, bytes_of(block), std::max(from().receive_tag, 0)};
        giver.takes = {{from().takes[0], 1, taker.gives.size(), false}};
        taker.gives.push_back(block);
        sent_apart = writer.send_apart(block, first, there.tag);
      }
      if (receiving_.call.sends && !to().gives.empty()) {
        const LoggedBlock block =
            placed_behind(to().gives[0], giver.one_buffer ? given_span(giver) : span_of({}, giver.takes));
        here.to = first;
        giver.takes.push_back({block, 1, 0, false});
        received_apart = writer.receive_apart(block, second, to().send_tag);
      }
    }
    const auto request = [](const Called& own) {
      return !own.call.receives ? "send_request" : !own.call.sends ? "receive_request" : "request";
    };
    const Steps send = writer.steps(sending_, there, request(sending_));
    const Steps receive = writer.steps(receiving_, here, request(receiving_));
    put(giver, send);
    put(taker, receive);
    const bool ready = sending_.call.body == "rsend";
    if (ready && (receiving_.mode == Mode::Blocking || receiving_.call.body == "mrecv"))
      throw Impossible{"a ready send needs a receive that is there already; one that blocks is not, without threads"};
    giver.communicate = received_apart + (ready ? "  MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, control, MPI_STATUS_IGNORE);\n" : "") +
                        send.begin + send.finish + (received_apart.empty() ? "" : "  MPI_Wait(&other_request, MPI_STATUS_IGNORE);\n");
    taker.communicate =
        receive.begin + (ready ? "  MPI_Send(NULL, 0, MPI_BYTE, 0, 1, control);  // it may be sent now\n" : "") + receive.finish + sent_apart;
  }

  Part sender_;
  Part receiver_;
  Called sending_;
  Called receiving_;
  Plan plan_;
};

}  // namespace

Plan message_plan(const Violation& violation) { return MessagePlan(violation).make(); }

}  // namespace reprise::flow::reproducing
