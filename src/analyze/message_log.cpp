#include "analyze/message_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/data_log.hpp"
#include "trace/message_log.hpp"

namespace reprise::analyze {
namespace {

using trace::MessageRecord;

std::uint64_t word(std::int64_t number) { return static_cast<std::uint64_t>(number); }

class Reading {
 public:
  Reading(MessageLog& log, const std::vector<engine::WildcardOutcome>& wildcards) : log_(log), wildcards_(wildcards) {
    log_.signatures.reserve(kMostSignatures);  // others point into it
  }

  // False: there is no such entry.
  bool take(const engine::DataEntry& entry) {
    const auto field = [&](std::size_t index) { return entry.field(index); };
    const auto is_place = [&](std::size_t index) { return word(field(index)) < log_.places.size(); };
    switch (static_cast<MessageRecord>(entry.kind)) {
      case MessageRecord::Signature: return entry.parts.size() == 1 && take_signature(*entry.parts[0]);
      case MessageRecord::Place:
        if (entry.parts.size() != 1) return false;
        log_.places.emplace_back(entry.parts[0]->begin(), entry.parts[0]->end());
        return true;
      case MessageRecord::Send:
        if (!is_place(6)) return false;
        log_.sends.push_back(
            {word(field(0)), field(1), field(2), field(3), data(field(4), field(5)), word(field(6)), true, true});
        return true;
      case MessageRecord::Receive: {
        if (!is_place(6)) return false;
        LoggedMessage receive{word(field(0)),           field(2), field(1), field(3), data(field(4), field(5)),
                              word(field(6)), true,     field(8) != 0};
        if (receive.source < 0) hear(receive, word(field(7)));
        log_.receives.push_back(receive);
        return true;
      }
      case MessageRecord::Collective:
        if (!is_place(2)) return false;
        log_.collectives.push_back({word(field(0)), field(1), word(field(2)), field(3), word(field(4)),
                                    data(field(5), field(6)), data(field(7), field(8))});
        return true;
      case MessageRecord::Unordered: log_.unordered = true; return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMostSignatures = 1u << 16;

  bool take_signature(const std::vector<std::uint8_t>& part) {
    std::vector<std::uint64_t> words(part.size() / 8);
    if (words.empty()) return false;
    std::memcpy(words.data(), part.data(), 8 * words.size());
    if (engine::words_of_signature(words.data()) != words.size()) return false;
    if (log_.signatures.size() < kMostSignatures) log_.signatures.push_back(engine::from_words(words.data()));
    return is_sound(log_.signatures.back());
  }

  // A damaged file may say anything.
  static bool is_sound(const engine::TypeSignature& signature) {
    return signature.fits_everything || std::all_of(signature.runs.begin(), signature.runs.end(), [](const engine::TypeSignature::Run& run) {
      return run.kind <= engine::TypeSignature::Kind::Unknown && run.size > 0 && run.count > 0;
    });
  }

  LoggedData data(std::int64_t bytes, std::int64_t signature) const {
    return {word(bytes), word(signature) < log_.signatures.size() ? &log_.signatures[word(signature)] : nullptr};
  }

  void hear(LoggedMessage& receive, std::uint64_t wildcard) const {
    receive.known = wildcard < wildcards_.size() && wildcards_[wildcard].code >= trace::kSourceBase;
    if (!receive.known) return;
    receive.source = wildcards_[wildcard].code - trace::kSourceBase;
    receive.tag = wildcards_[wildcard].tag;
  }

  MessageLog& log_;
  const std::vector<engine::WildcardOutcome>& wildcards_;
};

}  // namespace

Result<MessageLog> MessageLog::read(int dir_fd, std::uint64_t trace_id, std::uint32_t rank,
                                    const std::vector<engine::WildcardOutcome>& wildcards) {
  auto reader = engine::DataReader::open(dir_fd, {trace_id, rank, trace::kMessageStream});
  if (!reader) return reader.error();
  MessageLog log;
  Reading reading(log, wildcards);
  for (std::uint64_t number = 0;; ++number) {
    const auto entry = reader->next();
    if (!entry) return entry.error();
    if (!*entry) return log;
    if (!reading.take(**entry)) return Error{fmt::format("rank-{}.messages: entry {} makes no sense", rank, number)};
  }
}

}  // namespace reprise::analyze
