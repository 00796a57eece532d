// Small helpers for text that people read, and for text that came from somewhere we do not trust.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// The same text with control characters and broken UTF-8 shown as \xNN: a trace may come from a stranger, and a
// terminal obeys escape sequences.
std::string printable(std::string_view text);

std::string with_thousands(std::uint64_t number);                        // 1,204
std::string counted(std::uint64_t number, std::string_view noun);        // "1 rank", "4 ranks"
std::string human_bytes(std::uint64_t bytes);                            // "18 KiB"
std::string number_ranges(const std::vector<std::uint32_t>& ascending);  // "0-3, 7"

std::string hex(std::uint64_t value);  // always 16 digits
std::string hex(std::span<const std::uint8_t> bytes);
std::optional<std::uint64_t> parse_hex(std::string_view text);
std::optional<std::uint64_t> parse_number(std::string_view text);
std::optional<std::int64_t> parse_signed(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
// A command as one could type it into a shell.
std::string shell_words(const std::vector<std::string>& words);

// The candidate that `word` was probably meant to be; empty when none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string>& candidates);

std::string_view base_name(std::string_view path);

}  // namespace reprise
