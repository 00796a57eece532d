// Memory of this rank that others write to: what the rank sees of it, and when.
//
// A valid program sees what others wrote only after a synchronisation. There the bytes that were touched are looked at, and
// those that are new are logged. What they are compared with is a shadow (shadow_memory.hpp). A solo replay has the same
// shadow, made of the same log. So of bytes that were touched but are as they were, the log says just that, and the replay takes
// them from its shadow: the rank itself may have written something else there meanwhile (OPR's algorithm 4, line 14).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/data_log.hpp"
#include "engine/mirror.hpp"
#include "engine/shadow_memory.hpp"
#include "engine/touches.hpp"

namespace reprise::engine {

class SeenMemory {
 public:
  // How touches name bytes: counted from where the only region begins, by their addresses (a dynamic window), or by region and
  // offset (symmetric memory).
  enum class Naming { Offsets, Addresses, Regions };
  explicit SeenMemory(Naming naming = Naming::Offsets) : naming_(naming) {}
  static constexpr unsigned kOffsetBits = 40;
  static constexpr std::uint64_t name(std::uint32_t region, std::uint64_t offset) {
    return std::uint64_t{region} << kOffsetBits | offset;
  }

  // Regions are numbered in the order in which they come, which is the same in every run. `whole`: it may be looked at where
  // nothing is known of touches; otherwise there is too much in it that is not for others.
  std::uint32_t add_region(void* base, std::uint64_t size, bool whole = true);
  void remove_region(const void* base);
  // Recording: the program sees a copy of the region, which is shown whatever a look finds. It lives as long as the region.
  // Offsets of touches count from `origin`.
  void mirror(std::uint32_t region, Mirror* mirror, std::uint64_t origin = 0);

  // -- recording --

  // Where others tell what they do. None, or not all of them do: everything is looked at, every time.
  void listen(std::unique_ptr<Touches> touches, bool all_tell);
  void has_untold_stores() { all_tell_ = false; }
  // This rank has come back from one more MPI_Win_fence: so has what others told they would complete by it.
  void fence_ended() { ++fences_; }
  bool may_have_changed() const { return !all_tell_ || !open_.empty() || touches_->any(); }

  // What is new. Each look is one entry of the data, with these parts; `touches` are the accesses that may have changed it.
  struct Look {
    std::vector<std::uint8_t> ranges;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint8_t> touches;
    bool any() const { return !ranges.empty(); }
  };
  Look look();
  // Only there, before the program loads it. `bytes`: what was there, if it is something else by now.
  Look look_there(std::uint32_t region, std::uint64_t begin, std::uint64_t end, const std::uint8_t* bytes = nullptr);
  // There were touches that nobody could tell of, where not everything is looked at. Asked once.
  bool take_missed() { return std::exchange(missed_, false); }

  // -- solo replay, and whoever reads a trace --

  // One stretch of bytes of a look.
  struct Seen {
    std::uint32_t region = 0;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    bool is_new = false;  // otherwise as in the shadow
  };
  static bool read_ranges(const std::vector<std::uint8_t>& ranges, std::vector<Seen>& out);
  // An access to it; those that were not known to be complete come first.
  struct Accessed {
    std::uint32_t rank = 0;
    std::uint32_t number = 0;  // of its access
    std::uint32_t region = 0;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };
  static bool read_touches(const std::vector<std::uint8_t>& touches, std::vector<Accessed>& out);
  // What the rank has seen last, of bytes that it has looked at.
  std::optional<std::vector<std::uint8_t>> last_seen(std::uint32_t region, std::uint64_t begin, std::uint64_t size) const;
  // The shadow after a look. False: the trace is damaged.
  bool learn(const std::vector<Seen>& ranges, const std::vector<std::uint8_t>& bytes);
  // Shows the rank what it saw then. False: the trace does not fit.
  bool show(const std::vector<std::uint8_t>& ranges, const std::vector<std::uint8_t>& bytes);

  // The most that it has been so far.
  std::uint64_t shadow_bytes() const { return most_shadow_bytes_; }

 private:
  struct Region {
    std::uint8_t* base = nullptr;
    std::uint64_t size = 0;
    bool whole = true;
    Mirror* mirror = nullptr;
    std::uint64_t origin = 0;
  };
  struct Place {
    std::uint32_t region = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool operator<(const Place& other) const {
      return region != other.region ? region < other.region : begin < other.begin;
    }
  };
  // The ranges of a look, as they are logged.
  class Stretches {
   public:
    explicit Stretches(std::vector<std::uint8_t>& out) : out_(out) {}
    void add(std::uint32_t region, std::uint64_t begin, std::uint64_t end, bool is_new);
    void close();

   private:
    std::vector<std::uint8_t>& out_;
    Place now_, last_;
    bool is_new_ = false;
  };
  struct Open {
    Touch touch;
    std::uint64_t fence = 0;  // that completes it; 0: not known
    bool is_complete = false;
    bool is_settled = false;  // it was complete when the bytes that are looked at were read
  };

  bool hear();  // is anything new under way?
  std::vector<Place> touched(bool& has_news);
  void put_touches(const std::vector<Place>& places, std::vector<std::uint8_t>& out) const;
  void put_touch(const Open& one, const std::vector<Place>& places, std::vector<std::uint8_t>& out) const;
  void complete_stores(std::uint32_t origin);
  void settle();
  void forget_complete();
  void forget_settled(const Place& seen);
  void place(const Touch& touch, std::vector<Place>& out) const;
  void look_at(const Place& place, Stretches& stretches, std::vector<std::uint8_t>& bytes, const std::uint8_t* given = nullptr);
  void look_over(Look& look);
  void show_to_program(const std::vector<Seen>& seen);
  std::uint64_t first_name(std::uint32_t number, const Region& region) const;

  Naming naming_;
  bool all_tell_ = false;
  std::unique_ptr<Touches> touches_;
  std::vector<Open> open_;  // accesses that are told of and may still change something
  std::map<std::uint32_t, Region> regions_;
  std::uint32_t next_region_ = 0;
  std::uint64_t fences_ = 0;
  bool has_stores_ = false;
  bool everything_ = false;  // something could not be told
  bool missed_ = false;
  std::uint64_t most_shadow_bytes_ = 0;
  ShadowMemory shadow_;
};

}  // namespace reprise::engine
