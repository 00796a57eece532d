// A static order-0 entropy coder (range asymmetric numeral systems) for columns of skewed symbols.
//
// zstd's literals are Huffman coded, which cannot spend less than one bit on a symbol, and its match finder gains
// nothing on independent outcomes: a column of random senders or of mostly-zero poll counts costs it up to three
// times the entropy. This coder spends fractions of a bit. It is tried where zstd stays clearly above the entropy.
//
// Stored form: varint frequencies of the symbols from 0 on (they add up to 2^14; a 0 is followed by a varint, the
// number of further zeros), then two 64-bit final states (even and odd symbols have one each, which lets a processor
// work on both at once), then 32-bit words in the order in which the decoder needs them. The encoder works backwards,
// so that the decoder works forwards.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace reprise::trace {

using Histogram = std::array<std::uint32_t, 256>;

Histogram histogram(std::span<const std::uint8_t> symbols);

// The order-0 entropy of the column in bytes, which no order-0 coder can beat.
double entropy_bytes(const Histogram& counts, std::size_t total);

// Encodes into the end of `room`. Empty if it does not fit.
std::span<const std::uint8_t> entropy_encode(std::span<const std::uint8_t> symbols, const Histogram& counts,
                                             std::span<std::uint8_t> room);

// Fills `symbols`. False if the bytes are not what entropy_encode would have written for that many symbols.
bool entropy_decode(std::span<const std::uint8_t> stored, std::span<std::uint8_t> symbols);

}  // namespace reprise::trace
