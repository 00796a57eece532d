#define XXH_INLINE_ALL
#include "trace/blocks.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/bytes.hpp"

namespace reprise::trace {
namespace {

constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint32_t kFeatures = 0;  // bits that a reader must know; none is defined yet

bool same_checksum([[maybe_unused]] std::uint64_t stored, [[maybe_unused]] std::uint64_t computed) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  return true;  // a fuzzer must get past the checksums to the code behind them
#else
  return stored == computed;
#endif
}

const char* magic_of(FileKind kind) { return kind == FileKind::Log ? kLogMagic : kOpenMagic; }

}  // namespace

std::uint64_t checksum(std::span<const std::uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Error damaged(std::string_view file, std::uint64_t offset, std::string_view what) {
  std::string text(file);
  text.append(": damaged at offset ").append(std::to_string(offset)).append(": ").append(what);
  return Error{std::move(text)};
}

FileName file_name(FileKind kind, const LogIdentity& identity) {
  FileName name{};
  const bool is_log = kind == FileKind::Log;
  const std::uint32_t thread = identity.stream & ~(kDataStream | kMessageStream);
  const char* suffix = is_log ? "log" : "open";
  if (identity.stream & kDataStream) suffix = is_log ? "data" : "data-open";
  if (identity.stream & kMessageStream) suffix = is_log ? "messages" : "messages-open";
  if (thread == 0) std::snprintf(name.data(), name.size(), "rank-%u.%s", identity.rank, suffix);
  else std::snprintf(name.data(), name.size(), "rank-%u.thread-%u.%s", identity.rank, thread, suffix);
  return name;
}

std::array<std::uint8_t, kFileHeaderSize> encode_file_header(FileKind kind, const LogIdentity& identity) {
  std::array<std::uint8_t, kFileHeaderSize> bytes{};
  std::uint8_t* out = bytes.data();
  std::memcpy(out, magic_of(kind), 8);
  out = put_fixed<std::uint32_t>(out + 8, kFormatVersion);
  out = put_fixed<std::uint32_t>(out, kOldestReadable);
  out = put_fixed<std::uint32_t>(out, kByteOrder);
  out = put_fixed<std::uint32_t>(out, kFeatures);
  out = put_fixed<std::uint64_t>(out, identity.trace_id);
  out = put_fixed<std::uint32_t>(out, identity.rank);
  out = put_fixed<std::uint32_t>(out, identity.stream);
  out = put_fixed<std::uint32_t>(out, kChunkCapacity);
  put_fixed<std::uint64_t>(bytes.data() + 56, checksum({bytes.data(), 56}));
  return bytes;
}

Result<void> check_file_header(std::span<const std::uint8_t> bytes, FileKind kind, const LogIdentity& expected,
                               const std::string& file) {
  if (bytes.size() < kFileHeaderSize) return damaged(file, bytes.size(), "the file header is cut off");
  if (std::memcmp(bytes.data(), magic_of(kind), 8) != 0)
    return damaged(file, 0, "this is not a Reprise log (wrong magic)");
  ByteReader in(bytes.subspan(8, kFileHeaderSize - 8));
  const auto version = in.fixed<std::uint32_t>();
  const auto oldest_reader = in.fixed<std::uint32_t>();
  const auto byte_order = in.fixed<std::uint32_t>();
  const auto features = in.fixed<std::uint32_t>();
  const auto trace_id = in.fixed<std::uint64_t>();
  const auto rank = in.fixed<std::uint32_t>();
  const auto stream = in.fixed<std::uint32_t>();
  const auto capacity = in.fixed<std::uint32_t>();
  if (!same_checksum(get_fixed<std::uint64_t>(bytes.data() + 56), checksum(bytes.first(56))))
    return damaged(file, 0, "the file header's checksum is wrong");
  if (oldest_reader > kFormatVersion)
    return Error{file + ": written in trace format " + std::to_string(version) + ", which needs a reader of format " +
                 std::to_string(oldest_reader) + " or newer; this Reprise reads up to format " +
                 std::to_string(kFormatVersion) + ". Use a newer Reprise."};
  if (version < kOldestReadable || byte_order != kByteOrder || features != kFeatures || capacity != kChunkCapacity)
    return damaged(file, 8, "the file header holds values that this format does not have");
  if (trace_id != expected.trace_id) return damaged(file, 24, "the file belongs to another trace");
  if (rank != expected.rank || stream != expected.stream) return damaged(file, 32, "the file belongs to another rank");
  return {};
}

std::array<std::uint8_t, kBlockHeaderSize> encode_block_header(const BlockHeader& header) {
  std::array<std::uint8_t, kBlockHeaderSize> bytes{};
  std::uint8_t* out = bytes.data();
  out = put_fixed<std::uint32_t>(out, kBlockMagic);
  out = put_fixed<std::uint32_t>(out, static_cast<std::uint32_t>(header.kind));
  out = put_fixed<std::uint64_t>(out, header.number);
  out = put_fixed<std::uint64_t>(out, header.first_event);
  out = put_fixed<std::uint64_t>(out, header.events);
  out = put_fixed<std::uint64_t>(out, header.first_wildcard);
  out = put_fixed<std::uint32_t>(out, header.wildcards);
  out = put_fixed<std::uint32_t>(out, header.lates);
  out = put_fixed<std::uint32_t>(out, header.payload_size);
  out = put_fixed<std::uint32_t>(out, header.cancels);
  out = put_fixed<std::uint64_t>(out, header.payload_checksum);
  put_fixed<std::uint64_t>(out, checksum({bytes.data(), 64}));
  return bytes;
}

const char* decode_block_header(std::span<const std::uint8_t, kBlockHeaderSize> bytes, BlockHeader& out) {
  ByteReader in(bytes);
  const auto magic = in.fixed<std::uint32_t>();
  const auto kind = in.fixed<std::uint32_t>();
  out.number = in.fixed<std::uint64_t>();
  out.first_event = in.fixed<std::uint64_t>();
  out.events = in.fixed<std::uint64_t>();
  out.first_wildcard = in.fixed<std::uint64_t>();
  out.wildcards = in.fixed<std::uint32_t>();
  out.lates = in.fixed<std::uint32_t>();
  out.payload_size = in.fixed<std::uint32_t>();
  out.cancels = in.fixed<std::uint32_t>();
  out.payload_checksum = in.fixed<std::uint64_t>();
  const auto header_checksum = in.fixed<std::uint64_t>();
  if (magic != kBlockMagic) return "no block starts here";
  if (!same_checksum(header_checksum, checksum(bytes.first(64)))) return "the block header's checksum is wrong";
  if (kind < static_cast<std::uint32_t>(BlockKind::Info) || kind > static_cast<std::uint32_t>(BlockKind::End))
    return "unknown kind of block";
  if (out.cancels > out.lates) return "the block claims more cancellations than late outcomes";
  if (out.payload_size > kMaxBlockPayload) return "the block is larger than any block may be";
  out.kind = static_cast<BlockKind>(kind);
  return nullptr;
}

bool payload_matches(const BlockHeader& header, std::span<const std::uint8_t> payload) {
  return same_checksum(header.payload_checksum, checksum(payload));
}

std::array<std::uint8_t, kEndPayloadSize> encode_end(const End& end) {
  std::array<std::uint8_t, kEndPayloadSize> bytes{};
  std::uint8_t* out = put_fixed<std::uint32_t>(bytes.data(), static_cast<std::uint32_t>(end.kind));
  out = put_fixed<std::int32_t>(out, end.value);
  put_fixed<std::uint32_t>(out, end.in_call ? 1 : 0);
  return bytes;
}

const char* decode_end(std::span<const std::uint8_t> payload, End& out) {
  if (payload.size() != kEndPayloadSize) return "the END block has a wrong size";
  ByteReader in(payload);
  const auto kind = in.fixed<std::uint32_t>();
  out.value = in.fixed<std::int32_t>();
  const auto in_call = in.fixed<std::uint32_t>();
  if (kind > static_cast<std::uint32_t>(EndKind::Stopped)) return "unknown kind of end";
  if (in_call > 1) return "the END block holds an unknown flag";
  out.kind = static_cast<EndKind>(kind);
  out.in_call = in_call != 0;
  return nullptr;
}

std::vector<std::uint8_t> encode_info(const Info& info) {
  std::size_t count = 0;
  std::size_t size = kMaxVarint;
  for (const auto& [key, text] : info) {
    const std::size_t more = 2 * kMaxVarint + std::min(key.size(), kMaxInfoText) + std::min(text.size(), kMaxInfoText);
    if (count == kMaxInfoPairs || size + more > kMaxBlockPayload) break;
    size += more;
    ++count;
  }
  std::vector<std::uint8_t> bytes(size);
  std::uint8_t* out = put_varint(bytes.data(), count);
  for (std::size_t i = 0; i < count; ++i) {
    out = put_string(out, std::string_view(info[i].first).substr(0, kMaxInfoText));
    out = put_string(out, std::string_view(info[i].second).substr(0, kMaxInfoText));
  }
  bytes.resize(static_cast<std::size_t>(out - bytes.data()));
  return bytes;
}

const char* decode_info(std::span<const std::uint8_t> payload, Info& out) {
  ByteReader in(payload);
  const std::uint64_t count = in.varint();
  if (count > kMaxInfoPairs) return "the INFO block claims too many pairs";
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view key = in.string(kMaxInfoText);
    const std::string_view text = in.string(kMaxInfoText);
    if (in.ok()) out.emplace_back(key, text);
  }
  if (!in.ok() || !in.at_end()) return "the INFO block's texts do not fit its size";
  return nullptr;
}

}  // namespace reprise::trace
