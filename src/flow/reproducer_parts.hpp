// What a reproducer is put together from; for reproducer*.cpp only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/reproducer.hpp"

namespace reprise::flow::reproducing {

// Thrown where the program cannot be written, caught in reproducer().
struct Impossible {
  std::string why;
};

// Numbers of a damaged file may be anything.
std::int64_t sum(std::int64_t one, std::int64_t other);
std::int64_t product(std::int64_t one, std::int64_t other);
std::int64_t bytes_of(const LoggedBlock& block);

// Bytes from the buffer argument.
struct Span {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// A block that comes from a rank of the new program: the `number`-th of those that it gives.
struct Take {
  LoggedBlock block;
  int from = 0;
  std::uint64_t number = 0;
  bool is_mine = false;  // the number is that of the taker in its group
};

// One rank of the new program, and its statements.
struct Member {
  const LoggedShape* shape = nullptr;
  std::vector<LoggedBlock> gives;
  std::vector<Take> takes;
  // Of a reduction, in elements: what it contributes, what it gets, and which of all these are.
  std::uint64_t contributes = 0, results = 0, first = 0;
  std::size_t first_peer = 0;  // whose contributions are combined
  std::int64_t peers = 0;
  bool one_buffer = false;
  Span given, taken;
  std::string prepare;      // before the first round
  std::string communicate;  // in each of them
  std::string release;      // after the last
};

// The datatypes of the new program: each is made once, and its bytes are written down once.
class Types {
 public:
  // What it is called there: MPI_INT or type_1. A block of no elements may be of any type.
  std::string handle(const LoggedBlock& block);
  // A pointer to its table.
  std::string layout(const LoggedBlock& block);
  // Its extent decides where something is.
  void relies_on_extent(const LoggedType& type);

  std::string tables() const;
  std::string variables() const;  // empty: there are only predefined types
  std::string make() const;
  std::string release() const;

 private:
  struct Entry {
    const LoggedType* type = nullptr;
    std::string name;     // MPI_INT or type_1
    std::string code;     // that makes it; empty: it is predefined
    std::string table;    // of its runs; empty: nobody asked
    bool needs_extent = false;
    bool is_freed = false;
  };
  std::size_t find(const LoggedType& type);

  std::vector<Entry> all_;
  std::map<const LoggedType*, std::size_t> known_;
  std::map<std::vector<std::uint8_t>, std::size_t> by_tree_;
};

enum class Mode : std::uint8_t { Blocking, Nonblocking, Persistent };

// What the name of a call may mean: without MPI_ and the marks of its form, in small letters.
struct Form {
  std::string body;
  Mode mode = Mode::Blocking;
  bool large = false;  // counts are MPI_Count
};
std::vector<Form> forms_of(const std::string& call);

// One side's arguments of a collective: a block; equal blocks one behind the other; counts and places; types as well.
enum class Side : std::uint8_t { One, Even, Varying, Typed };
struct Collective {
  std::string_view name;  // in small letters
  Side send = Side::One;
  Side receive = Side::One;
  bool rooted = false;
  bool neighbours = false;
  bool reduces = false;

  // The block that a rank gets is the one that has its number.
  bool numbered() const { return send != Side::One && !neighbours && !reduces; }
};
struct CollectiveCall {
  const Collective* kind = nullptr;
  Mode mode = Mode::Blocking;
  bool large = false;
};
CollectiveCall collective_call(const std::string& name);

// Of an operation with a request: it is completed in as many ways, and started as often if it is persistent.
inline constexpr int kRounds = 4;

struct Plan {
  std::vector<Member> members;
  std::size_t local = 0;  // members of the first group of an intercommunicator; 0: it is none
  virtual_world::Topology topology;  // as the first member sees it
  int rounds = 1;
  bool is_message = false;
  std::string remark;  // how the program differs from what was seen
  std::shared_ptr<LoggedShape> invented;  // a call that nobody has seen
  std::shared_ptr<LoggedType> bytes;      // MPI_BYTE, if the program did not use it
  std::string before_call;                // what the call needs
  std::string element;  // code for the elements of a reduction; empty: it is none
  Types types;

  // Of a member, in its group.
  std::size_t number_in_group(std::size_t rank) const { return local > 0 && rank >= local ? rank - local : rank; }
};

bool is_root(const LoggedShape& shape);
// The flag may also come from an argument that does not count.
bool is_in_place(const Collective& kind, const LoggedShape& shape);
// What a member of a reduction gets, at the start of its buffer.
bool gets_result(const LoggedShape& shape);
const char* operation_name(std::uint64_t number);

// The statements of all members (reproducer_calls.cpp).
void write_collective(Plan& plan);
// All of it (reproducer_messages.cpp).
Plan message_plan(const Violation& violation);
// The same (reproducer_windows.cpp).
Plan access_plan(const Violation& violation);
Span span_of(const std::vector<LoggedBlock>& gives, const std::vector<Take>& takes);
// C code for the elements of this reduction (reproducer_reductions.cpp).
std::string element_code(const Plan& plan);
// The same of an accumulate, and how many elements there are.
std::string element_code(Types& types, const LoggedBlock& block, std::uint64_t operation, std::uint64_t& elements);

// --- text (reproducer_text.cpp) --------------------------------------------------------------------------------------

// Long lines go on in the next one, after a comma.
std::string wrapped(std::string_view line);
std::string indented(const std::string& text, std::size_t by);
// One text per rank as one: what differs depends on `rank`.
std::string by_rank(const std::vector<std::string>& texts);
std::string numbers(const std::vector<std::int64_t>& values);
std::string program(Plan& plan, const Violation& violation, const std::string& name);

}  // namespace reprise::flow::reproducing
