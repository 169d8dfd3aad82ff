// SPDX-License-Identifier: Apache-2.0
//
// How the processes of a run are recognised: a word in their environment that names the engine's
// folder, the job and the generation. A supervisor has it as WEIR_SUPERVISOR, a rank as WEIR_TOKEN.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::engine {

inline constexpr std::string_view kSupervisorVariable = "WEIR_SUPERVISOR";
inline constexpr std::string_view kRankVariable = "WEIR_TOKEN";

struct RunKey {
  std::uint64_t job = 0;
  std::uint32_t generation = 0;
  friend auto operator<=>(const RunKey&, const RunKey&) = default;
};

// "STORE.JOB.GENERATION"
std::string run_token(std::string_view store, RunKey run);
// Nothing when the token belongs to another store.
std::optional<RunKey> parse_run_token(std::string_view store, std::string_view token);

// Decimal digits only, all of the text, and no overflow.
template <class Number>
std::optional<Number> parse_number(std::string_view text);
extern template std::optional<std::uint64_t> parse_number(std::string_view);
extern template std::optional<std::uint32_t> parse_number(std::string_view);
extern template std::optional<std::int64_t> parse_number(std::string_view);
extern template std::optional<std::int32_t> parse_number(std::string_view);

// The text up to the first space, which is taken off with it.
std::string_view take_word(std::string_view& text);

}  // namespace weir::engine
