// Writes one stream of records: the open chunk in a shared file map, closed chunks appended to the log.
//
// What makes a SIGKILL harmless: a record's bytes are written first, then one 64-bit commit word (cursor and hits) is
// stored. Both live in the page cache, which outlives the process. A full chunk is appended to rank-N.log before the
// map is used again; the chunk numbers in both files tell a reader which of the two to believe.
//
// What makes a full disk harmless: what is used of the map has been reserved (little at first: many threads log little), and
// a failed append stops the recording (the map keeps the chunk that could not be appended) while the writer goes on in
// private memory that nobody reads.
//
// Chunks that are full before attach() are kept, compressed, in anonymous maps and written when the log exists.
//
// Not thread-safe; the engine holds its lock around it. No function here calls malloc except attach(). The main thread's
// writer lives as long as its process; that of a thread that has ended may be released.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "trace/file_io.hpp"
#include "trace/format.hpp"

namespace reprise::trace {

// What ties a log to its trace. The trace id is the manifest's.
struct LogIdentity {
  std::uint64_t trace_id = 0;
  std::uint32_t rank = 0;
  std::uint32_t stream = 0;
};

using Info = std::vector<std::pair<std::string, std::string>>;

// The words of the open file that change with every call. Offsets are part of the format (see format.hpp).
struct LiveWords {
  std::uint64_t chunk_number;
  std::uint64_t commit;  // low half: bytes of committed records; high half: hits since the last record
  std::uint64_t in_call;
  std::uint64_t end;  // low half: EndKind; high half: its value
};
inline constexpr std::size_t kLiveOffset = 64;
inline constexpr std::size_t kRecordsOffset = 4096;
inline constexpr std::size_t kOpenFileSize = kRecordsOffset + kChunkCapacity;

class ChunkWriter {
 public:
  // Records are buffered in private memory until attach() names the file. False if there is no memory.
  bool begin_private();

  // Creates rank-N.log and rank-N.open below dir_fd (which stays the caller's) and moves the buffered records there.
  // Pointers to slots in the open chunk stay valid.
  // `plain` forces ordinary writes in place of the shared map (used where maps fail, and by tests). After an error
  // nothing is left on disk, and the writer goes on as one that has stopped.
  Result<void> attach(int dir_fd, const LogIdentity& identity, const Info& info, bool plain);

  // One more call that was predicted right.
  void hit() {
    if (++hits_ == UINT32_MAX) [[unlikely]] {
      commit(reserve(Kind::Pause, 0));
      return;
    }
    publish();
  }

  // Room for one record of at most `payload` bytes (kMaxRecord at the most); write there, then commit() its end.
  // Behind every record there stays room for the PAUSE record that ends the chunk.
  std::uint8_t* reserve(Kind kind, std::size_t payload) {
    if (cursor_ + kMaxHead + payload + kMaxHead > room_) [[unlikely]]
      make_room(kMaxHead + payload + kMaxHead);
    std::uint8_t* out = records_ + cursor_;
    const std::uint32_t hits = hits_;
    *out++ = static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 4 | (hits < 15 ? hits : 15));
    if (hits >= 15) out = put_varint(out, hits - 15);
    return out;
  }

  void commit(const std::uint8_t* end) {
    cursor_ = static_cast<std::uint32_t>(end - records_);
    hits_ = 0;
    publish();
  }

  // A slot inside a record of the open chunk was changed in place.
  void touched(const std::uint8_t* at, std::size_t size) {
    if (plain_) [[unlikely]]
      write_through(at, size);
  }

  void set_in_call(bool inside) {
    std::atomic_ref(live_->in_call).store(inside, std::memory_order_relaxed);
    if (plain_) [[unlikely]]
      write_word(&live_->in_call);
  }
  bool in_call() const { return live_->in_call != 0; }
  void set_end(EndKind kind, std::int32_t value) {
    std::atomic_ref(live_->end).store(end_word(kind, value), std::memory_order_relaxed);
    if (plain_) [[unlikely]]
      write_word(&live_->end);
  }

  // Slots may be changed in place only while the chunk that holds them is open.
  std::uint64_t chunk_number() const { return number_; }

  bool attached() const { return log_fd_ >= 0; }
  bool stopped() const { return stopped_ != 0; }

  // Closes the last chunk, writes the END block and removes the open file. What cannot be appended stays in the open
  // file, with the same end. What is logged afterwards goes nowhere.
  void finish(End end);

  // After finish(): gives the memory back. Nothing may be logged any more.
  void release();

  // In a forked child: forget the files without touching the map (it is not there any more). What is logged afterwards
  // goes nowhere. Buffered records of a writer that is not attached stay: the child may yet become a rank of its own.
  void disown();

 private:
  static constexpr std::size_t kMaxHead = 1 + 5;

  static std::uint64_t end_word(EndKind kind, std::int32_t value) {
    return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(value)) << 32;
  }
  void publish() {
    const std::uint64_t word = cursor_ | static_cast<std::uint64_t>(hits_) << 32;
    std::atomic_ref(live_->commit).store(word, std::memory_order_release);
    if (plain_) [[unlikely]]
      write_commit();
  }

  // A chunk that was full before there was a log: a map of its own, the block behind this struct.
  struct KeptBlock {
    KeptBlock* next;
    std::size_t size;
    std::span<const std::uint8_t> bytes() const { return {reinterpret_cast<const std::uint8_t*>(this + 1), size}; }
  };

  void make_room(std::size_t size);
  int reserve_more(std::size_t size);
  void close_chunk();
  void put_pause();
  int append_chunk();  // these return 0 or errno
  int append_end(const End& end);
  int append(std::span<const std::uint8_t> header, std::span<const std::uint8_t> payload);
  int keep(std::span<const std::uint8_t> header, std::span<const std::uint8_t> payload);
  void next_chunk();
  void stop(int error);
  void go_private();
  void close_files();

  int create_log(const Info& info);
  void drop_kept();
  int create_open_file(bool plain);
  void use_map(int fd, std::uint32_t room);
  Error give_up(int error, const char* what);

  void write_commit();
  void write_word(const std::uint64_t* word);
  void write_through(const std::uint8_t* at, std::size_t size);
  void write_open(const void* data, std::size_t size, std::uint64_t offset);

  std::uint8_t* records_ = nullptr;
  LiveWords* live_ = nullptr;
  std::uint32_t cursor_ = 0;
  std::uint32_t hits_ = 0;
  std::uint32_t room_ = kChunkCapacity;  // bytes of records that the open file has room for
  bool plain_ = false;
  int stopped_ = 0;  // errno that ended the recording
  int log_fd_ = -1;
  int open_fd_ = -1;  // plain mode only
  int dir_fd_ = -1;
  FileId log_id_;  // what the descriptors must still be before they are used
  FileId open_id_;
  FileId dir_id_;
  std::uint32_t flushed_ = 0;  // plain mode: records below this cursor are in the file
  std::uint64_t number_ = 0;   // of the open chunk
  std::uint64_t log_size_ = 0;
  std::uint64_t first_event_ = 0;  // of the open chunk
  std::uint64_t first_wildcard_ = 0;
  LogIdentity identity_;
  KeptBlock* kept_ = nullptr;
  KeptBlock* kept_last_ = nullptr;
  std::size_t kept_bytes_ = 0;
  std::uint8_t* memory_ = nullptr;   // what is, or becomes, the open file: header, live words, records
  std::uint8_t* spare_ = nullptr;    // private memory to go on in after a stop
  std::uint8_t* scratch_ = nullptr;  // for the codec
};

}  // namespace reprise::trace
