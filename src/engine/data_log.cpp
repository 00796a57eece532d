// An entry as bytes: u8 kind; varint number of fields, signed varints; varint number of parts; per part a varint, its
// size << 1, or 1 + (distance << 1) if it repeats the part that many repeatable parts ago; then the bytes of the
// others. These bytes are cut into BYTES records as long as can be; only the last one of an entry is shorter
// (trace/format.hpp).
#define XXH_INLINE_ALL
#include "engine/data_log.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "trace/blocks.hpp"

namespace reprise::engine {

using trace::Kind;

namespace {

constexpr std::size_t kDigests = 1u << 14;
constexpr std::uint64_t kNoRepetition = UINT64_MAX;

XXH128_hash_t hash_of(std::span<const DataRun> runs) {
  if (runs.size() == 1) return XXH3_128bits(runs[0].from, runs[0].size);
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const DataRun& run : runs) XXH3_128bits_update(&state, run.from, run.size);
  return XXH3_128bits_digest(&state);
}

bool may_repeat(std::uint64_t size) { return size >= kSmallestRepeated && size <= kLargestRepeated; }

}  // namespace

std::uint32_t digest_of(std::span<const DataRun> runs) { return static_cast<std::uint32_t>(hash_of(runs).low64); }

Result<void> DataRecorder::open(int dir_fd, const trace::LogIdentity& identity, const trace::Info& info, bool plain,
                                std::uint64_t limit) {
  if (!writer_.begin_private()) return Error{"there is no memory to record data"};
  if (auto attached = writer_.attach(dir_fd, identity, info, plain); !attached) return attached.error();
  known_.resize(kDigests);
  limit_ = limit;
  open_ = true;
  return {};
}

// Which part has the same bytes; as a distance. The part counts as known from now on.
std::uint64_t DataRecorder::look_for_repetition(std::span<const DataRun> runs, std::uint64_t size) {
  const XXH128_hash_t hash = hash_of(runs);
  const Digest digest{hash.low64, hash.high64 ^ size};
  Known& slot = known_[digest.low % kDigests];
  if (slot.digest == digest && slot.behind + kRepeatWindow > repeatable_bytes_ + size && slot.number < repeatables_)
    return repeatables_ - slot.number;
  repeatable_bytes_ += size;
  slot = {digest, repeatables_++, repeatable_bytes_};
  return kNoRepetition;
}

void DataRecorder::begin_entry(std::uint64_t size) {
  left_ = size;
  room_ = 0;
}

void DataRecorder::put(const void* from, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  for (;;) {
    if (room_ == 0) {
      room_ = std::min<std::uint64_t>(left_, trace::kMaxByteString);
      at_ = writer_.reserve(Kind::Bytes, kMaxVarint + room_);
      at_ = put_varint(at_, room_ + 1);
    }
    const std::size_t now = std::min(size, room_);
    std::memcpy(at_, bytes, now);
    at_ += now;
    bytes += now;
    size -= now;
    room_ -= now;
    left_ -= now;
    if (room_ == 0) writer_.commit(at_);
    if (size == 0) return;
  }
}

void DataRecorder::add(DataKind kind, std::span<const std::int64_t> fields, std::span<const std::uint64_t> parts,
                       std::span<const DataRun> runs) {
  if (!open_) return;
  // Most entries have one part, and then this is on the stack.
  constexpr std::size_t kFew = 64;
  std::array<std::uint8_t, 1 + (kMaxDataFields + kFew + 2) * kMaxVarint> small;
  std::array<bool, kFew> few{};
  std::vector<std::uint8_t> large;
  std::vector<std::uint8_t> many;
  if (parts.size() > kFew) {
    large.resize(1 + (kMaxDataFields + parts.size() + 2) * kMaxVarint);
    many.resize(parts.size());
  }
  std::uint8_t* const head = large.empty() ? small.data() : large.data();
  const auto inlined = [&](std::size_t index, bool value) {
    if (many.empty()) few[index] = value;
    else many[index] = value;
  };
  std::uint8_t* out = head;
  *out++ = static_cast<std::uint8_t>(kind);
  out = put_varint(out, std::min(fields.size(), kMaxDataFields));
  for (const std::int64_t field : fields.first(std::min(fields.size(), kMaxDataFields))) out = put_signed(out, field);
  out = put_varint(out, parts.size());
  std::uint64_t size = 0;
  std::size_t run = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t first = run;
    for (std::uint64_t seen = 0; seen < parts[i]; ++run) seen += runs[run].size;
    const std::uint64_t distance =
        may_repeat(parts[i]) ? look_for_repetition(runs.subspan(first, run - first), parts[i]) : kNoRepetition;
    inlined(i, distance == kNoRepetition);
    size += distance == kNoRepetition ? parts[i] : 0;
    out = put_varint(out, distance == kNoRepetition ? parts[i] << 1 : distance << 1 | 1);
  }
  const auto head_size = static_cast<std::size_t>(out - head);
  size += head_size;
  logged_ += size;
  if (logged_ > limit_ && kind != DataKind::Stopped) {
    add(DataKind::Stopped, {}, {}, {});
    open_ = false;
    return;
  }
  begin_entry(size);
  put(head, head_size);
  run = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool here = many.empty() ? few[i] : many[i] != 0;
    for (std::uint64_t seen = 0; seen < parts[i]; ++run) {
      seen += runs[run].size;
      if (here && runs[run].size > 0) put(runs[run].from, runs[run].size);
    }
  }
  if (size % trace::kMaxByteString == 0) {  // the record that says that the entry is over
    std::uint8_t* at = writer_.reserve(Kind::Bytes, kMaxVarint);
    writer_.commit(put_varint(at, 1));
  }
}

void DataRecorder::finish(const trace::End& end) {
  open_ = false;
  writer_.finish(end);
}

Result<DataReader> DataReader::open(int dir_fd, const trace::LogIdentity& identity) {
  auto reader = trace::RankReader::open(dir_fd, identity.rank, identity.trace_id, identity.stream);
  if (!reader) return reader.error();
  DataReader data(std::move(*reader));
  data.name_ = trace::file_name(trace::FileKind::Log, identity).data();
  return data;
}

Error DataReader::damaged(const char* what) const {
  return Error{name_ + ": damaged in entry " + std::to_string(entries_) + ": " + what};
}

// False at the end, also in the middle of an entry: the rank died while it wrote it.
Result<bool> DataReader::read_piece() {
  for (;;) {
    const auto record = reader_.next();
    if (!record) return record.error();
    if (!*record) return false;
    if ((*record)->kind == Kind::Pause) continue;
    if ((*record)->kind != Kind::Bytes) return damaged("a record that has no place in such a file");
    ByteReader in((*record)->payload);
    const std::uint64_t size = in.varint();
    if (size == 0) return damaged("a record that has no place in such a file");
    piece_ = in.bytes(size - 1);
    last_piece_ = piece_.size() < trace::kMaxByteString;
    return true;
  }
}

// Makes sure that there is a byte left. False at the end of the entry, or of the log.
bool DataReader::more() {
  while (piece_.empty() && !last_piece_ && !cut_off_ && !trouble_) {
    const auto read = read_piece();
    if (!read) trouble_ = read.error();
    else cut_off_ = !*read;
  }
  return !piece_.empty();
}

std::uint64_t DataReader::take_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (!more()) break;
    const std::uint8_t byte = piece_.front();
    piece_ = piece_.subspan(1);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  ok_ = false;
  return 0;
}

// Grows with what is really there: the size is only a claim.
void DataReader::take(std::vector<std::uint8_t>& into, std::uint64_t size) {
  if (size <= trace::kMaxByteString * 16) into.reserve(size);
  while (into.size() < size && more()) {
    const std::size_t now = std::min<std::uint64_t>(piece_.size(), size - into.size());
    into.insert(into.end(), piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(now));
    piece_ = piece_.subspan(now);
  }
  ok_ &= into.size() == size;
}

const char* DataReader::read_entry(DataEntry& entry) {
  entry.kind = static_cast<DataKind>(take_varint());
  const std::uint64_t fields = take_varint();
  if (fields > kMaxDataFields) return "too many fields";
  for (std::uint64_t i = 0; i < fields; ++i) entry.fields.push_back(unzigzag(take_varint()));
  const std::uint64_t parts = take_varint();
  if (parts > kMaxDataParts) return "too many parts";
  std::vector<std::uint64_t> codes;
  for (std::uint64_t i = 0; i < parts && ok_; ++i) codes.push_back(take_varint());
  for (const std::uint64_t code : codes) {
    if (!ok_) break;
    if (code & 1) {
      const std::uint64_t distance = code >> 1;
      if (distance == 0 || distance > repeatable_.size()) return "a part repeats one that is not there";
      entry.parts.push_back(repeatable_[repeatable_.size() - distance]);
      continue;
    }
    const std::uint64_t size = code >> 1;
    if (size > kMaxDataPart) return "a part is too large";
    auto part = std::make_shared<std::vector<std::uint8_t>>();
    take(*part, size);
    entry.parts.push_back(part);
    if (!may_repeat(size)) continue;
    repeatable_.push_back(std::move(part));
    kept_bytes_ += size;
    for (; kept_bytes_ > kRepeatWindow + kLargestRepeated; repeatable_.pop_front())
      kept_bytes_ -= repeatable_.front()->size();
  }
  if (!ok_ || more()) return "its fields do not fit it";
  return nullptr;
}

Result<std::optional<DataEntry>> DataReader::next() {
  const auto first = read_piece();
  if (!first) return first.error();
  if (!*first) return std::optional<DataEntry>();
  ok_ = true;
  DataEntry entry;
  const char* const wrong = read_entry(entry);
  if (trouble_) return *trouble_;
  if (cut_off_) return std::optional<DataEntry>();
  if (wrong) return damaged(wrong);
  if (entry.kind == DataKind::Stopped) {
    stopped_ = true;
    return std::optional<DataEntry>();
  }
  ++entries_;
  return std::optional(std::move(entry));
}

}  // namespace reprise::engine
