#include "trace/rank_reader.hpp"

#include <algorithm>

#include "trace/log_file.hpp"

namespace reprise::trace {
namespace {

// Late outcomes are remembered for this many consecutive wildcard receives (or posts) at a time. They are asked about
// in the order in which they were posted, so a window that moves forward is enough, and it bounds the memory whatever
// the file holds.
constexpr std::uint64_t kLateWindow = 1u << 16;

// Late outcomes of one numbering: ordinals begin .. begin + kLateWindow - 1, found in blocks before scan_block.
struct Window {
  bool of_posts = false;
  std::uint64_t begin = 0;
  std::uint64_t scan_block = 0;
  bool open_chunk_scanned = false;
  std::unordered_map<std::uint64_t, LateOutcome> found;

  void remember(const LateOutcome& late) {
    if ((late.code == kCancelledPost) == of_posts && late.ordinal - begin < kLateWindow)
      found.emplace(late.ordinal, late);
  }
};

}  // namespace

struct RankReader::State {
  explicit State(LogFile&& file)
      : log(std::move(file)), current_block(log.chunks_begin()), next_block(log.chunks_begin()) {
    wildcards.scan_block = posts.scan_block = log.chunks_begin();
    posts.of_posts = true;
  }

  LogFile log;
  ChunkDecoder decoder;
  std::span<const std::uint8_t> records;  // of the chunk that is being read
  ByteReader in{{}};
  std::uint64_t current_block;  // offset of the block that `records` came from
  std::uint64_t next_block;
  bool open_chunk_read = false;

  std::vector<std::uint8_t> payload;  // as read from the file

  Window wildcards;
  Window posts;

  Result<bool> load_chunk();
  Result<bool> scan_chunk(Window& window);
  Result<LateOutcome> late(Window& window, std::uint64_t ordinal);
};

// The next chunk into `records`. False when there is none.
Result<bool> RankReader::State::load_chunk() {
  if (next_block == log.chunks_end()) {
    if (open_chunk_read) return false;
    open_chunk_read = true;
    current_block = next_block;
    records = log.open_records();
    in = ByteReader(records);
    return true;
  }
  const auto header = log.header_at(next_block);
  if (!header) return header.error();
  if (header->kind != BlockKind::Chunk) return damaged(log.name(), next_block, "the file changed while it was read");
  if (auto done = log.read_payload(next_block, *header, payload); !done) return done.error();
  ChunkCounts counts;
  const auto decoded = decoder.decode(payload, counts);
  if (!decoded) return damaged(log.name(), next_block, decoded.error().what);
  if (counts.events != header->events || counts.wildcards != header->wildcards || counts.lates != header->lates ||
      counts.cancels != header->cancels)
    return damaged(log.name(), next_block, "the chunk does not hold what its header says");
  records = *decoded;
  in = ByteReader(records);
  current_block = next_block;
  next_block += kBlockHeaderSize + header->payload_size;
  return true;
}

// The late outcomes of one more chunk. False when there is none.
Result<bool> RankReader::State::scan_chunk(Window& window) {
  if (window.scan_block == log.chunks_end()) {
    if (window.open_chunk_scanned) return false;
    window.open_chunk_scanned = true;
    ByteReader open(log.open_records());
    Record record;
    while (read_record(open, record)) {
      if (record.kind != Kind::Late) continue;
      ByteReader entry(record.payload);
      window.remember(read_late(entry));
    }
    return true;
  }
  const auto header = log.header_at(window.scan_block);
  if (!header) return header.error();
  if (window.of_posts ? header->cancels > 0 : header->lates > header->cancels) {
    if (auto done = log.read_payload(window.scan_block, *header, payload); !done) return done.error();
    const auto found = decode_lates(payload);
    if (!found) return damaged(log.name(), window.scan_block, found.error().what);
    for (const LateOutcome& late : *found) window.remember(late);
  }
  window.scan_block += kBlockHeaderSize + header->payload_size;
  return true;
}

Result<LateOutcome> RankReader::State::late(Window& window, std::uint64_t ordinal) {
  if (ordinal - window.begin >= kLateWindow) {
    window.found.clear();
    window.begin = ordinal;
    window.scan_block = current_block;
    window.open_chunk_scanned = false;
  }
  for (;;) {
    const auto found = window.found.find(ordinal);
    if (found != window.found.end()) return found->second;
    const auto more = scan_chunk(window);
    if (!more) return more.error();
    if (!*more) return LateOutcome{ordinal, kPending, 0};
  }
}

RankReader::RankReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RankReader::RankReader(RankReader&&) noexcept = default;
RankReader& RankReader::operator=(RankReader&&) noexcept = default;
RankReader::~RankReader() = default;

Result<RankReader> RankReader::open(int dir_fd, std::uint32_t rank, std::uint64_t trace_id, std::uint32_t stream) {
  auto log = LogFile::open(dir_fd, {trace_id, rank, stream});
  if (!log) return log.error();
  return RankReader(std::make_unique<State>(std::move(*log)));
}

const Info& RankReader::info() const { return state_->log.info(); }

std::string_view RankReader::info(std::string_view key) const {
  const Info& pairs = info();
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == key; });
  return found == pairs.end() ? std::string_view{} : std::string_view(found->second);
}

Result<std::optional<Record>> RankReader::next() {
  State& state = *state_;
  Record record;
  for (;;) {
    while (read_record(state.in, record))
      if (record.kind != Kind::Pause || record.hits > 0) return std::optional(record);
    if (!state.in.ok()) return damaged(state.log.name(), state.current_block, "a record is not well formed");
    const auto more = state.load_chunk();
    if (!more) return more.error();
    if (!*more) return std::optional<Record>{};
  }
}

Error RankReader::damaged_record(std::string_view what) const {
  const State& state = *state_;
  if (!state.open_chunk_read) return damaged(state.log.name(), state.current_block, what);
  const auto behind = static_cast<std::uint64_t>(state.in.here() - state.records.data());
  return damaged(state.log.open_name(), kRecordsOffset + behind, what);
}

Result<LateOutcome> RankReader::late(std::uint64_t ordinal) { return state_->late(state_->wildcards, ordinal); }

Result<bool> RankReader::cancelled(std::uint64_t post) {
  if (state_->log.cancels() == 0) return false;
  const auto found = state_->late(state_->posts, post);
  if (!found) return found.error();
  return found->code == kCancelledPost;
}

const End& RankReader::end() const { return state_->log.end(); }
std::uint64_t RankReader::total_events() const { return state_->log.chunk_events() + state_->log.open_counts().events; }
bool RankReader::unsealed() const { return !state_->log.sealed(); }

}  // namespace reprise::trace
