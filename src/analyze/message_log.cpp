#include "analyze/message_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/process.hpp"
#include "trace/message_log.hpp"

namespace reprise::analyze {
namespace {

using trace::MessageRecord;
using Words = std::span<const std::uint64_t>;

constexpr std::size_t kLargestFile = std::size_t{1} << 32;

std::int64_t number(std::uint64_t word) { return static_cast<std::int64_t>(word); }

class Reading {
 public:
  Reading(MessageLog& log, const std::vector<engine::WildcardOutcome>& wildcards) : log_(log), wildcards_(wildcards) {
    log_.signatures.reserve(kMostSignatures);  // others point into it
  }

  bool take(MessageRecord kind, Words words) {
    switch (kind) {
      case MessageRecord::Signature:
        if (words.empty() || engine::words_of_signature(words.data()) != words.size()) return false;
        if (log_.signatures.size() < kMostSignatures) log_.signatures.push_back(engine::from_words(words.data()));
        return is_sound(log_.signatures.back());
      case MessageRecord::Place:
        if (words.empty() || words[0] > 8 * (words.size() - 1)) return false;
        log_.places.emplace_back(reinterpret_cast<const char*>(words.data() + 1), words[0]);
        return true;
      case MessageRecord::Send: {
        if (words.size() != 7 || words[6] >= log_.places.size()) return false;
        log_.sends.push_back({words[0], number(words[1]), number(words[2]), number(words[3]), data(words[4], words[5]),
                              words[6], true, true});
        return true;
      }
      case MessageRecord::Receive: {
        if (words.size() != 9 || words[6] >= log_.places.size()) return false;
        LoggedMessage receive{words[0], number(words[2]), number(words[1]), number(words[3]), data(words[4], words[5]),
                              words[6], true, words[8] != 0};
        if (receive.source < 0) hear(receive, words[7]);
        log_.receives.push_back(receive);
        return true;
      }
      case MessageRecord::Collective: {
        if (words.size() != 9 || words[2] >= log_.places.size()) return false;
        log_.collectives.push_back({words[0], number(words[1]), words[2], number(words[3]), words[4],
                                    data(words[5], words[6]), data(words[7], words[8])});
        return true;
      }
      case MessageRecord::Unordered: log_.unordered = true; return true;
      case MessageRecord::End: break;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMostSignatures = 1u << 16;

  // A damaged file may say anything.
  static bool is_sound(const engine::TypeSignature& signature) {
    return signature.fits_everything || std::all_of(signature.runs.begin(), signature.runs.end(), [](const engine::TypeSignature::Run& run) {
      return run.kind <= engine::TypeSignature::Kind::Unknown && run.size > 0 && run.count > 0;
    });
  }

  LoggedData data(std::uint64_t bytes, std::uint64_t signature) const {
    return {bytes, signature < log_.signatures.size() ? &log_.signatures[signature] : nullptr};
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

Result<MessageLog> MessageLog::read(int dir_fd, std::uint32_t rank,
                                    const std::vector<engine::WildcardOutcome>& wildcards) {
  MessageLog log;
  const std::string name = fmt::format("rank-{}.messages", rank);
  const auto file = read_file_at(dir_fd, name, kLargestFile, true);
  if (!file) return Error{fmt::format("cannot read {}", name)};
  std::vector<std::uint64_t> all(file->size() / 8);
  std::memcpy(all.data(), file->data(), 8 * all.size());
  if (all.empty() || all[0] != trace::kMessagesMagic) return Error{fmt::format("{} is no list of messages", name)};
  Reading reading(log, wildcards);
  for (std::size_t at = 1; at < all.size();) {
    const auto kind = static_cast<MessageRecord>(all[at] >> 32);
    const std::uint64_t count = all[at] & UINT32_MAX;
    if (kind == MessageRecord::End) {  // the rest of a piece
      at = (at / trace::kMessagePiece + 1) * trace::kMessagePiece;
      continue;
    }
    if (count > all.size() - at - 1 || !reading.take(kind, Words(all).subspan(at + 1, count)))
      return Error{fmt::format("{} is damaged at word {}", name, at)};
    at += 1 + count;
  }
  return log;
}

}  // namespace reprise::analyze
