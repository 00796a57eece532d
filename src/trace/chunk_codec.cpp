#define ZSTD_STATIC_LINKING_ONLY
#include "trace/chunk_codec.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "trace/columns.hpp"
#include "trace/entropy.hpp"

namespace reprise::trace {
namespace {

enum class Method : std::uint8_t { Raw = 0, Zstd = 1, Entropy = 2 };

// Level 3 makes such columns about 1 % smaller at best and takes up to three times as long (while the program waits).
constexpr int kZstdLevel = 1;

constexpr std::size_t kMaxColumnHeader = 1 + 2 * kMaxVarint;
constexpr std::size_t kMaxEncoded = 2 * kMaxColumn + kColumns * kMaxColumnHeader;
// Fewer bytes are not worth a compressor's own header.
constexpr std::size_t kTooSmallToCompress = 24;
// The entropy coder is tried where zstd needs so much more than the entropy, unless it needs next to nothing anyway.
constexpr double kWorthEntropyCoding = 1.05;
constexpr std::size_t kNextToNothing = 128;  // raw bytes per stored byte

// What is worth a look before it is compressed, how much is looked at, and when it is left as it is.
constexpr std::size_t kLargeColumn = 128 << 10;
constexpr std::size_t kSample = 16 << 10;
constexpr double kRandom = 0.99;

constexpr std::size_t aligned(std::size_t size) { return (size + 63) & ~std::size_t{63}; }

// Scratch memory, in this order: a buffer per column (only the pages in use are ever touched), zstd's context, room
// for what one method makes of one column, and the payload.
struct Scratch {
  static std::size_t context_size() {
    static const std::size_t size = aligned(ZSTD_estimateCCtxSize(kZstdLevel));
    return size;
  }
  static constexpr std::size_t kColumnStride = aligned(kMaxColumn + kSlack);

  explicit Scratch(std::span<std::uint8_t> bytes) : base(bytes.data()) {}
  std::uint8_t* column(unsigned index) const { return base + index * kColumnStride; }
  std::uint8_t* context() const { return base + kColumns * kColumnStride; }
  std::span<std::uint8_t> trial() const { return {context() + context_size(), kColumnStride}; }
  std::uint8_t* payload() const { return trial().data() + kColumnStride; }

  std::uint8_t* base;
};

// Of numbers that a program has computed, nothing can be saved, and trying that takes longer than all the rest. Some
// bytes from the middle tell.
bool looks_random(std::span<const std::uint8_t> column, std::span<std::uint8_t> trial, ZSTD_CCtx* zstd) {
  if (column.size() < kLargeColumn) return false;
  const auto sample = column.subspan(column.size() / 2, kSample);
  if (entropy_bytes(histogram(sample), sample.size()) < kRandom * kSample) return false;
  const std::size_t size =
      ZSTD_compressCCtx(zstd, trial.data(), trial.size(), sample.data(), sample.size(), kZstdLevel);
  return ZSTD_isError(size) || static_cast<double>(size) >= kRandom * kSample;
}

std::uint8_t* store(std::uint8_t* out, std::span<const std::uint8_t> column, const Scratch& scratch, ZSTD_CCtx* zstd) {
  Method method = Method::Raw;
  std::span<const std::uint8_t> stored = column;
  const std::span<std::uint8_t> trial = scratch.trial();
  if (column.size() >= kTooSmallToCompress && !looks_random(column, trial, zstd)) {
    // Room for less than the raw size: what would be larger fails.
    const std::size_t size =
        ZSTD_compressCCtx(zstd, trial.data(), column.size() - 1, column.data(), column.size(), kZstdLevel);
    if (!ZSTD_isError(size)) {
      method = Method::Zstd;
      stored = {trial.data(), size};
    }
    if (stored.size() > column.size() / kNextToNothing) {
      const Histogram counts = histogram(column);
      if (static_cast<double>(stored.size()) > kWorthEntropyCoding * entropy_bytes(counts, column.size())) {
        const auto coded = entropy_encode(column, counts, trial.subspan(method == Method::Zstd ? size : 0));
        if (!coded.empty() && coded.size() < stored.size()) {
          method = Method::Entropy;
          stored = coded;
        }
      }
    }
  }
  *out++ = static_cast<std::uint8_t>(method);
  out = put_varint(out, column.size());
  out = put_varint(out, stored.size());
  return append(out, stored.data(), stored.data() + stored.size());
}

// In the preload library operator new is not the program's malloc (frontends/sys/own_heap.cpp).
const ZSTD_customMem kOurMemory{[](void*, std::size_t size) { return ::operator new(size, std::nothrow); },
                                [](void*, void* memory) { ::operator delete(memory); }, nullptr};

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

const char* load(ByteReader& in, ColumnBytes& column, std::unique_ptr<ZSTD_DCtx, FreeContext>& zstd) {
  const auto method = static_cast<Method>(in.fixed<std::uint8_t>());
  const std::uint64_t raw_size = in.varint();
  const std::uint64_t stored_size = in.varint();
  const auto stored = in.bytes(stored_size);
  if (!in.ok()) return "a column does not fit its block";
  if (raw_size > kMaxColumn) return "a column is larger than any column may be";
  column.resize(raw_size);
  const std::span<std::uint8_t> raw(column.bytes.data(), raw_size);
  switch (method) {
    case Method::Raw:
      if (raw_size != stored_size) return "a raw column's two sizes differ";
      std::copy(stored.begin(), stored.end(), raw.begin());
      return nullptr;
    case Method::Zstd: {
      if (!zstd) zstd.reset(ZSTD_createDCtx_advanced(kOurMemory));
      if (!zstd) return "no memory to decompress a column";
      if (ZSTD_decompressDCtx(zstd.get(), raw.data(), raw.size(), stored.data(), stored.size()) != raw_size)
        return "a column does not decompress";
      return nullptr;
    }
    case Method::Entropy: return entropy_decode(stored, raw) ? nullptr : "a column does not decompress";
  }
  return "a column is stored by an unknown method";
}

}  // namespace

std::size_t encode_scratch_size() {
  return (kColumns + 1) * Scratch::kColumnStride + Scratch::context_size() + kMaxEncoded;
}

std::span<const std::uint8_t> encode_chunk(std::span<const std::uint8_t> records, std::span<std::uint8_t> scratch_bytes,
                                           ChunkCounts& counts) {
  counts = {};
  if (records.size() > kChunkCapacity || scratch_bytes.size() < encode_scratch_size()) return {};
  const Scratch scratch(scratch_bytes);
  ColumnEnds starts;
  ColumnEnds ends;
  for (unsigned i = 0; i < kColumns; ++i) starts[i] = scratch.column(i);
  if (!split_records(records, starts, ends, counts)) return {};
  ZSTD_CCtx* zstd = ZSTD_initStaticCCtx(scratch.context(), Scratch::context_size());
  if (zstd == nullptr) return {};
  std::uint8_t* const payload = scratch.payload();
  std::uint8_t* out = payload;
  unsigned stored = kColumns;
  while (stored > kAlwaysStored && starts[stored - 1] == ends[stored - 1]) --stored;
  for (unsigned i = 0; i < stored; ++i) out = store(out, {starts[i], ends[i]}, scratch, zstd);
  return {payload, static_cast<std::size_t>(out - payload)};
}

struct ChunkDecoder::Space {
  std::array<ColumnBytes, kColumns> columns;
  std::unique_ptr<ZSTD_DCtx, FreeContext> zstd;
  std::vector<std::uint8_t> records;
};

ChunkDecoder::ChunkDecoder() = default;
ChunkDecoder::ChunkDecoder(ChunkDecoder&&) noexcept = default;
ChunkDecoder& ChunkDecoder::operator=(ChunkDecoder&&) noexcept = default;
ChunkDecoder::~ChunkDecoder() = default;

Result<std::span<const std::uint8_t>> ChunkDecoder::decode(std::span<const std::uint8_t> payload, ChunkCounts& counts) {
  counts = {};
  if (!space_) space_ = std::make_unique<Space>();
  Space& space = *space_;
  ByteReader in(payload);
  for (unsigned i = 0; i < kColumns; ++i) {
    if (i >= kAlwaysStored && in.at_end()) space.columns[i].resize(0);
    else if (const char* wrong = load(in, space.columns[i], space.zstd)) return Error{wrong};
  }
  if (!in.at_end()) return Error{"there are bytes behind the last column"};
  space.records.resize(kRoomToJoin);
  std::size_t size = 0;
  if (const char* wrong = join_columns(space.columns, space.records.data(), size, counts)) return Error{wrong};
  return std::span<const std::uint8_t>(space.records.data(), size);
}

LateOutcome read_late(ByteReader& in) {
  LateOutcome late;
  late.ordinal = in.varint();
  const std::uint64_t code = in.varint();
  const std::int64_t tag = in.signed_varint();
  if (code > UINT32_MAX || tag < INT32_MIN || tag > INT32_MAX) in.fail();
  late.code = static_cast<std::uint32_t>(code);
  late.tag = static_cast<std::int32_t>(tag);
  return late;
}

void count_late(std::span<const std::uint8_t> payload, ChunkCounts& counts) {
  ByteReader in(payload);
  ++counts.lates;
  if (read_late(in).code == kCancelledPost) ++counts.cancels;
}

Result<std::vector<LateOutcome>> decode_lates(std::span<const std::uint8_t> payload) {
  ByteReader in(payload);
  ColumnBytes column;
  std::unique_ptr<ZSTD_DCtx, FreeContext> zstd;
  if (const char* wrong = load(in, column, zstd)) return Error{wrong};
  std::vector<LateOutcome> lates;
  ByteReader entries({column.bytes.data(), column.size});
  while (!entries.at_end()) lates.push_back(read_late(entries));
  if (!entries.ok()) return Error{"the late outcomes do not fit their column"};
  return lates;
}

}  // namespace reprise::trace
