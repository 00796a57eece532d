// The calls of a recorded rank, one after the other, with the outcomes that belong to them.
//
// The single place where records become calls: the replayer follows it inside the program, analyze/ reads it offline.
// It owns the definitions and the call model. Everything read from the log is checked; after trouble, error() says it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/call_model.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::engine {

struct FunctionDefinition {
  std::string name;
  bool blocking = false;
};
struct ModuleDefinition {
  std::string path;
  std::string build_id;
};
struct SiteDefinition {
  std::uint32_t function = 0;
  std::uint32_t module = 0;
  std::uint64_t offset = 0;
};
struct MemberRange {
  std::uint32_t first = 0;
  std::int64_t stride = 0;
  std::uint64_t count = 0;
};
struct CommunicatorRecord {
  std::int64_t parent = kNoComm;
  std::uint64_t uid = 0;
  std::string how;
  std::uint64_t counter = 0;
  std::uint64_t my_rank = 0;
  std::uint64_t size = 0;    // of both groups together
  std::uint64_t remote = 0;  // of an intercommunicator: members of the remote group, which come last
  std::vector<MemberRange> members;
};
struct NoteRecord {
  std::uint64_t before_event = 0;  // noted before this call
  std::string key;
  std::string text;
};

struct LoggedCall {
  std::uint64_t number = 0;  // the first call is 0
  std::uint32_t site = 0;
  Arguments arguments{};
};

// A wildcard receive's outcome as it lies in the log, late ones included.
struct WildcardOutcome {
  std::uint32_t code = trace::kPending;
  std::int32_t tag = 0;
};

class CallStream {
 public:
  explicit CallStream(trace::RankReader reader);

  enum class Step { Call, Outcome, End, Damaged };

  // What comes next, without taking it. Definitions on the way are applied.
  Step peek();
  // Where the next call comes from (peek() must have said Call).
  std::uint32_t peek_site() const;
  // Takes the next call (peek() must have said Call).
  LoggedCall take_call();
  // The same in the common case, without a detour: the next call is predicted to come from this site (kNoSite: look
  // with peek()), and take_repeated() takes it if its arguments are those of the site's last call.
  std::uint32_t next_predicted_site() const { return hits_left_ > 0 ? model_.predicted_site() : kNoSite; }
  bool take_repeated(std::uint32_t site, const Arguments& arguments) {
    if (!histories_[site].repeats(arguments)) return false;
    --hits_left_;
    ++next_number_;
    model_.advance(site);
    last_site_ = site;
    return true;
  }
  // Of which kind the next outcome is (peek() must have said Outcome).
  trace::Kind outcome_kind() const { return record_->kind; }
  // Takes the next outcome (peek() must have said Outcome). Valid until the next call of anything here.
  trace::Record take_outcome();

  // Interpretation of an outcome record.
  Result<WildcardOutcome> wildcard(const trace::Record& record);
  double time(const trace::Record& record);
  Result<bool> cancelled(std::uint64_t post) { return reader_.cancelled(post); }
  static std::uint64_t poll(const trace::Record& record);  // failures << 1 | success
  // False: MPI_UNDEFINED.
  static bool indices(const trace::Record& record, std::vector<std::uint32_t>& out);
  // Numbers of the last call taken. `error` is the errno of a call that failed, else 0.
  void numbers(const trace::Record& record, std::vector<std::int64_t>& out, int& error);
  static std::span<const std::uint8_t> bytes(const trace::Record& record, int& error);

  const std::vector<FunctionDefinition>& functions() const { return functions_; }
  const std::vector<ModuleDefinition>& modules() const { return modules_; }
  const std::vector<SiteDefinition>& sites() const { return sites_; }
  const std::vector<CommunicatorRecord>& communicators() const { return communicators_; }
  // Some that other threads of the rank have made.
  void know(const std::vector<CommunicatorRecord>& communicators) { communicators_ = communicators; }
  // Their names, of those that this thread made, in that order.
  const std::vector<std::uint64_t>& made() const { return made_; }
  const std::vector<NoteRecord>& notes() const { return notes_; }
  const std::vector<std::string>& names() const { return names_; }  // of named events
  const trace::RankReader& reader() const { return reader_; }
  const std::string& error() const { return error_; }
  std::uint64_t next_number() const { return next_number_; }

 private:
  bool fetch();
  bool apply_definition(const trace::Record& record);
  Step damaged(const char* what);

  trace::RankReader reader_;
  CallModel model_;
  std::vector<SiteHistory> histories_;
  std::vector<FunctionDefinition> functions_;
  std::vector<ModuleDefinition> modules_;
  std::vector<SiteDefinition> sites_;
  std::vector<CommunicatorRecord> communicators_;
  std::vector<std::uint64_t> made_;
  std::vector<NoteRecord> notes_;
  std::vector<std::string> names_;
  std::optional<trace::Record> record_;  // the next record; its hits come first
  bool fetched_ = false;
  std::uint64_t hits_left_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint64_t wildcards_ = 0;
  std::uint32_t last_site_ = kNoSite;
  std::uint64_t last_time_ = 0;
  std::uint64_t lanes_[trace::kLanes] = {};
  std::string error_;
};

}  // namespace reprise::engine
