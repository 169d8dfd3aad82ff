// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::cli {
namespace {

constexpr std::size_t kLongestLine = 64 << 10;
constexpr std::size_t kChunk = 64 << 10;

std::string_view last_state(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // npos + 1 is 0
}

}  // namespace

void LineCutter::add(std::string_view bytes, const Use& use) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    begun_ += bytes.substr(0, end);
    if (end == std::string_view::npos) break;
    use(last_state(begun_));
    begun_.clear();
    bytes.remove_prefix(end + 1);
  }
  if (begun_.size() >= kLongestLine) finish(use);
}

void LineCutter::finish(const Use& use) {
  if (!begun_.empty()) use(last_state(begun_));
  begun_.clear();
}

RunOutput::RunOutput(Engine& engine, JobId job, Use use)
    : engine_{engine}, job_{job}, use_{std::move(use)} {}

void RunOutput::expect(std::uint32_t generation, std::int32_t ranks) {
  Generation& next = generations_.emplace_back();
  next.number = generation;
  for (std::int32_t i = 0; i < ranks; ++i) next.ranks.push_back({i, 0, false, {}});
}

void RunOutput::look() {
  while (!generations_.empty()) {
    Generation& first = generations_.front();
    for (Rank& rank : first.ranks) read(first.number, rank);
    if (!std::ranges::all_of(first.ranks, &Rank::is_over)) return;
    close(first);
    generations_.pop_front();
  }
}

void RunOutput::finish_before(std::uint32_t generation) {
  while (!generations_.empty() && generations_.front().number < generation) {
    Generation& first = generations_.front();
    for (Rank& rank : first.ranks) read(first.number, rank);
    close(first);
    generations_.pop_front();
  }
}

void RunOutput::read(std::uint32_t generation, Rank& rank) {
  while (!rank.is_over && read_chunk(generation, rank)) {
  }
}

// False: there is no more now.
bool RunOutput::read_chunk(std::uint32_t generation, Rank& rank) {
  const auto chunk = engine_.read_log({job_, generation, rank.number, rank.offset}, kChunk);
  if (!chunk) return false;  // it has not begun
  const auto use = [&](std::string_view line) { use_(rank.number, line); };
  if (chunk->offset > rank.offset) {
    rank.lines.finish(use);
    use(fmt::format("({} bytes of output were dropped)", chunk->offset - rank.offset));
  }
  rank.lines.add(chunk->bytes, use);
  rank.offset = chunk->offset + static_cast<std::int64_t>(chunk->bytes.size());
  rank.is_over = chunk->is_over;
  return !chunk->bytes.empty();
}

void RunOutput::close(Generation& generation) {
  for (Rank& rank : generation.ranks) {
    rank.lines.finish([&](std::string_view line) { use_(rank.number, line); });
  }
}

}  // namespace weir::cli
