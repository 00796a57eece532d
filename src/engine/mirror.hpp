// Memory that others write to, as a program sees it whose every access is hooked (reprise cc): a private copy.
//
// Others work on the real memory. The program loads from the copy, which changes only where it is told to: in a hook or at a call of
// ours, where that is logged. So it loads exactly what was logged, whatever happens between a hook and the load behind it (which OPR
// could not guarantee: section 7, "before" and "after"). What the program stores is published at the next hook or call.
//
// A third copy holds what the two agreed on last. Where the program's differs from it, code without hooks has stored something (a
// library of the program, MPI_Recv); where the real memory differs from it, others have.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::engine {

class Mirror {
 public:
  // The copy may be memory that the program has; then both are the same after this. Otherwise it begins with zeros, as in a replay, and
  // lies where there is room, or in zeros that were made for it.
  enum class Copy { Made, OfZeros, TheProgramHas };
  Mirror(void* real, std::uint64_t size, Copy kind = Copy::Made, void* program = nullptr);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  bool is_made() const { return program_ && agreed_; }

  std::uint8_t* program() const { return program_; }
  std::uint8_t* real() const { return real_; }
  std::uint8_t* agreed() const { return agreed_; }
  std::uint64_t size() const { return size_; }

  // Is the program about to load what is there?
  bool is_current(std::uint64_t at, std::uint64_t size) const;
  // What others see there, if that is a number that a processor loads as one.
  bool load_whole(std::uint64_t at, std::uint64_t size, std::uint8_t* out) const;
  // The program has stored this.
  void publish(std::uint64_t at, std::uint64_t size);
  // The same for whatever it has stored without a hook, here or anywhere.
  void publish_unhooked(std::uint64_t at, std::uint64_t size);
  void publish_unhooked() { publish_unhooked(0, size_); }
  // What others wrote, as it was logged.
  void show(std::uint64_t at, const std::uint8_t* bytes, std::uint64_t size);
  // An atomic operation has been done to both.
  void agree(std::uint64_t at, std::uint64_t size);

  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  // Where others have written, in blocks of 64 bytes or less.
  std::vector<Range> changed_by_others() const;

 private:
  std::uint8_t* real_;
  std::uint8_t* program_;
  std::uint8_t* agreed_;
  std::uint64_t size_;
  bool owns_program_;
};

}  // namespace reprise::engine
