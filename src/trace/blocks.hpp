// File headers and block headers of the log, as bytes: the one place where writer, reader and sealer meet.
//
// Every field is written by itself, in little-endian order, at the offset that docs/trace-format.md names. A header
// carries its own checksum, because the log is scanned by hopping from header to header without reading payloads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "trace/chunk_writer.hpp"
#include "trace/format.hpp"

namespace reprise::trace {

inline constexpr std::size_t kFileHeaderSize = 64;
inline constexpr std::size_t kBlockHeaderSize = 72;
inline constexpr std::size_t kEndPayloadSize = 12;
inline constexpr std::size_t kMaxInfoPairs = 1024;
inline constexpr std::size_t kMaxInfoText = 1u << 20;  // a command line may be long
static_assert(kFileHeaderSize <= kLiveOffset);

enum class FileKind { Log, Open };

struct BlockHeader {
  BlockKind kind = BlockKind::Info;
  std::uint64_t number = 0;       // CHUNK: its number; END: how many chunks there are
  std::uint64_t first_event = 0;  // events before this block
  std::uint64_t events = 0;       // in this block
  std::uint64_t first_wildcard = 0;
  std::uint32_t wildcards = 0;
  std::uint32_t lates = 0;    // LATE records in this block: a search may hop over blocks without any
  std::uint32_t cancels = 0;  // those of them that say that an operation was cancelled
  std::uint32_t payload_size = 0;
  std::uint64_t payload_checksum = 0;
};

std::uint64_t checksum(std::span<const std::uint8_t> bytes);

std::array<std::uint8_t, kFileHeaderSize> encode_file_header(FileKind kind, const LogIdentity& identity);
// Checks magic, checksum, version and that the file is the one expected. `file` is its name, for the error's text.
Result<void> check_file_header(std::span<const std::uint8_t> bytes, FileKind kind, const LogIdentity& expected,
                               const std::string& file);

std::array<std::uint8_t, kBlockHeaderSize> encode_block_header(const BlockHeader& header);
// nullptr and `out`, or what is wrong with the bytes.
const char* decode_block_header(std::span<const std::uint8_t, kBlockHeaderSize> bytes, BlockHeader& out);
bool payload_matches(const BlockHeader& header, std::span<const std::uint8_t> payload);

std::array<std::uint8_t, kEndPayloadSize> encode_end(const End& end);
const char* decode_end(std::span<const std::uint8_t> payload, End& out);

// Texts that are too long are cut, surplus pairs left out, so that the block is always readable.
std::vector<std::uint8_t> encode_info(const Info& info);
const char* decode_info(std::span<const std::uint8_t> payload, Info& out);

inline constexpr std::size_t kMaxFileName = 48;
using FileName = std::array<char, kMaxFileName>;
// rank-3.log; of a stream other than the first, rank-3.thread-2.log; of a thread's data, rank-3.thread-2.data.
FileName file_name(FileKind kind, const LogIdentity& identity);

Error damaged(std::string_view file, std::uint64_t offset, std::string_view what);

}  // namespace reprise::trace
