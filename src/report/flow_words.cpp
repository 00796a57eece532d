#include "report/flow_words.hpp"

#include <fmt/format.h>

#include "analyze/note_fields.hpp"
#include "base/text.hpp"

namespace reprise::report {

using flow::Blame;
using flow::Place;
using trace::IntentionRecord;

const char* movement_name(IntentionRecord kind) {
  switch (kind) {
    case IntentionRecord::Copied: return "memcpy";
    case IntentionRecord::Sent: return "write to a socket";
    case IntentionRecord::Heard: return "read from a socket";
    case IntentionRecord::Pulled: return "process_vm_readv";
    case IntentionRecord::Pushed: return "process_vm_writev";
    case IntentionRecord::Packed: return "packing";
    case IntentionRecord::Unpacked: return "unpacking";
    default: return "movement";
  }
}

std::string stage_words(const flow::Stage& stage, analyze::SourceLines& lines) {
  std::string text = movement_name(stage.kind);
  analyze::NoteFields fields(*stage.site);
  const analyze::SourceLine* const line = fields.site(lines);
  if (!line) return text + " by loads and stores";
  text += " in " + printable(base_name(line->module));
  if (line->function.empty()) return text + fmt::format(" (+0x{:x})", line->offset);
  return text + fmt::format(" ({}+0x{:x})", printable(line->function), line->in_function);
}

std::string place_words(const Place& place, const flow::Journey& journey) {
  if (place.kind == Place::Kind::Shared) return "shared memory";
  if (place.kind == Place::Kind::Stream) return "a socket";
  const flow::Delivery& delivery = journey.delivery();
  if (flow::meets(journey.given(), journey.giver().given_at(delivery.given), place, delivery.from, 1)) return "the send buffer";
  if (flow::meets(journey.taken(), journey.taker().taken_at(delivery.taken), place, delivery.to, 1)) return "the receive buffer";
  return fmt::format("memory of rank {}", place.number);
}

std::string route_words(const flow::Hop& hop, const flow::Journey& journey) {
  return fmt::format("from {} to {}", place_words(hop.from, journey), place_words(hop.to, journey));
}

std::string blame_words(const Blame& blame) {
  switch (blame.kind) {
    case Blame::Kind::NotMoved: return fmt::format("from byte {} on, bytes were not moved on there", blame.offset);
    case Blame::Kind::Misplaced: return fmt::format("from byte {} on, bytes were put to a wrong place there", blame.offset);
    case Blame::Kind::Overwritten: return fmt::format("from byte {} on, other bytes were put over them there", blame.offset);
    case Blame::Kind::Reversed: return fmt::format("from byte {} on, bytes were overwritten there and not read: the wrong direction", blame.offset);
    case Blame::Kind::Packing: return fmt::format("from byte {} on, other bytes were packed there than the datatype says", blame.offset);
    case Blame::Kind::Unknown: break;
  }
  return "unknown";
}

}  // namespace reprise::report
