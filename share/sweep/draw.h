// Deterministic random numbers.
#ifndef SWEEP_DRAW_H
#define SWEEP_DRAW_H

#include <stdbool.h>
#include <stdint.h>

struct draw {
  uint64_t state;
};

static inline uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
// Of two numbers one, in which their order matters.
static inline uint64_t mix(uint64_t a, uint64_t b) {
  return scramble(scramble(a + 0x9e3779b97f4a7c15u) + b * 0xd6e8feb86659fd93u + 1);
}
static inline uint64_t draw_bits(struct draw* d) { return scramble(d->state += 0x9e3779b97f4a7c15u); }
static inline long draw_below(struct draw* d, long n) { return (long)(draw_bits(d) % (uint64_t)n); }
static inline long draw_between(struct draw* d, long low, long high) { return low + draw_below(d, high - low + 1); }
static inline bool draw_chance(struct draw* d, int percent) { return draw_below(d, 100) < percent; }

// A random order of 0..n-1.
static inline void draw_order(struct draw* d, int n, int* order) {
  for (int i = 0; i < n; ++i) {
    const int j = (int)draw_below(d, i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}

#endif
