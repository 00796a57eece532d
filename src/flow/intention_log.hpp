// What the calls of one rank gave and took: rank-N.messages of `reprise check`, read (trace/intention_log.hpp).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/data_log.hpp"
#include "engine/type_tree.hpp"
#include "trace/intention_log.hpp"
#include "virtual/topology.hpp"

namespace reprise::flow {

struct LoggedType {
  engine::TypeTree tree;
  engine::FlatType flat;
  std::vector<std::uint64_t> begins;  // of its runs
};

struct LoggedGroup {
  std::uint64_t uid = 0;
  int me = 0;
  std::vector<int> local;   // world ranks
  std::vector<int> remote;  // of an intercommunicator
  virtual_world::Topology topology;

  bool inter() const { return !remote.empty(); }
  // Those that blocks and messages come from and go to.
  const std::vector<int>& peers() const { return inter() ? remote : local; }
  std::uint64_t most_pieces() const { return trace::most_pieces(local.size() + remote.size()); }
};

struct LoggedBlock {
  std::int64_t place = 0;  // in bytes, from the program's buffer
  std::uint64_t count = 0;
  const LoggedType* type = nullptr;
  int peer = -1;
  std::uint64_t number = 0;
  bool by_edge = false;

  std::uint64_t bytes() const { return count == 0 ? 0 : count * type->flat.size; }
  // From the first to behind the last byte, as distances from where the block begins.
  engine::Bounds bounds() const { return count == 0 ? engine::Bounds() : engine::bounds_of(type->flat, count); }
};

struct LoggedShape {
  const std::string* place = nullptr;  // the call, and where it is: fields as in notes
  const LoggedGroup* group = nullptr;
  trace::IntentionForm form = trace::IntentionForm::Collective;
  int root = -1;
  int dest = -1;
  int send_tag = 0;
  int source = -1;
  int receive_tag = -1;
  std::uint64_t operation = 0;
  std::int64_t combines = -1;
  std::uint64_t all = 0, first = 0, count = 0;
  const LoggedType* element = nullptr;
  std::int64_t flags = 0;
  std::vector<LoggedBlock> gives;
  std::vector<LoggedBlock> takes;

  bool sends() const { return form == trace::IntentionForm::Send || form == trace::IntentionForm::SendReceive; }
  bool receives() const {
    return form == trace::IntentionForm::Receive || form == trace::IntentionForm::SendReceive ||
           form == trace::IntentionForm::Probe;
  }
  // "MPI_Gatherv"
  std::string call() const { return place->substr(0, place->find('|')); }
};

// What the library said.
struct Told {
  int error = 0;
  int source = -1;
  int tag = -1;
  std::uint64_t bytes = 0;
  bool cancelled = false;
};

// What the library has moved, as trace/intention_log.hpp says; or memory that has come or gone.
struct Movement {
  const std::string* site = nullptr;  // fields as in notes, behind the call
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;
  const std::string* stream = nullptr;  // its own end and the other one's, or empty
  std::uint64_t offset = 0;             // in the stream, in what an operation gives or takes, or in a file
  std::uint64_t post = 0;
  std::uint64_t block = 0;
  bool takes = false;           // the block is one that is taken
  std::uint64_t wrong = 0;      // 1 + the first byte that is not what it should be
  std::int64_t process = 0;
  std::uint64_t device = 0, file = 0;  // of memory that is shared; of a process: its machine
};

struct Event {
  trace::IntentionRecord kind = trace::IntentionRecord::Whole;
  const LoggedShape* shape = nullptr;  // of an End, if it is another one than that of its Begin
  std::uint64_t post = 0;              // Begin, End, Freed
  std::uint64_t address = 0;
  std::uint64_t given_from = 0;  // these two only if movements are followed
  std::uint64_t time = 0;
  Movement movement;
  Told told;
  engine::DataPart given, taken, contribution, result, expected;
  // Remark; of Accumulated: `more` the operation, `block` the bytes of an element, `given` its type, `taken` the elements
  trace::Seen seen{};
  int side = 0;
  std::uint64_t block = 0;
  std::int64_t offset = 0;
  std::uint64_t more = 0;
};

class IntentionLog {
 public:
  static Result<IntentionLog> open(int dir_fd, std::uint64_t trace_id, std::uint32_t rank);

  // nullopt at the end.
  Result<std::optional<Event>> next();
  const std::deque<LoggedType>& types() const { return *types_; }
  // Has it entries about movements? Known after the first entry.
  bool has_movements() const { return has_movements_; }

 private:
  explicit IntentionLog(engine::DataReader reader) : reader_(std::move(reader)) {}
  bool define(const engine::DataEntry& entry);
  bool define_group(const engine::DataEntry& entry);
  bool define_shape(const engine::DataEntry& entry);
  bool blocks(const engine::DataPart& part, std::size_t fields, std::vector<LoggedBlock>& out) const;
  std::optional<Event> event(const engine::DataEntry& entry);
  bool movement(const engine::DataEntry& entry, Event& event);

  engine::DataReader reader_;
  std::uint32_t rank_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t posts_ = 0;
  std::uint64_t time_ = 0;
  std::uint64_t last_to_ = 0, last_from_ = 0;
  bool has_movements_ = false;
  // Others point into these.
  std::unique_ptr<std::deque<std::string>> places_ = std::make_unique<std::deque<std::string>>();
  std::unique_ptr<std::deque<LoggedType>> types_ = std::make_unique<std::deque<LoggedType>>();
  std::unique_ptr<std::deque<LoggedGroup>> groups_ = std::make_unique<std::deque<LoggedGroup>>();
  std::unique_ptr<std::deque<std::string>> sites_ = std::make_unique<std::deque<std::string>>();
  std::unique_ptr<std::deque<std::string>> streams_ = std::make_unique<std::deque<std::string>>();
  std::unique_ptr<std::deque<LoggedShape>> shapes_ = std::make_unique<std::deque<LoggedShape>>();
};

}  // namespace reprise::flow
