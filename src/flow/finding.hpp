// What follows for a byte that did not arrive, if it is supposed to have gone one of the known ways; and which of these is the likeliest.
#pragma once

#include <tuple>

#include "flow/blame.hpp"
#include "flow/known_ways.hpp"

namespace reprise::flow {

struct Finding {
  const KnownWay* way = nullptr;
  Blame blame;
  std::size_t gone = 0;     // stages that the bytes were seen at
  bool guessed = false;     // that a movement was wrong is known from where such movements put other bytes
  bool far = false;         // it has ended far from where it should: perhaps it was to go on
  bool goes_on = true;      // the rest of the way has done what it does if nothing but this is wrong
  bool borders = false;     // the movement on which it was not has read what is next to it
  bool is_usual = false;    // this part of other blocks has come by this way
  // The way that the bytes were seen on for longer is more likely theirs. Then a movement that was seen to do something
  // wrong is worth more than one that should have been there, and a way that their neighbours went on, or the same part of
  // other blocks, more than others. The library does not know that something is wrong, and goes on.
  std::tuple<std::size_t, bool, bool, bool, bool, bool, bool, bool, std::size_t> rank() const {
    const bool has_movement = blame.movement != nullptr && !far;
    return {gone, goes_on, !guessed, is_sure(), borders, is_usual, has_movement, !way->is_joined, way->stages.size()};
  }
  bool is_sure() const { return blame.movement != nullptr && !far && !guessed && blame.kind != Blame::Kind::NotMoved; }
  bool is_before(const Finding& other) const {
    if (blame.movement && blame.movement == other.blame.movement && blame.hop == other.blame.hop) return false;
    if (guessed != other.guessed) return other.guessed;
    if ((blame.movement != nullptr) != (other.blame.movement != nullptr)) return blame.movement != nullptr;
    return blame.hop < other.blame.hop;
  }
};

}  // namespace reprise::flow
