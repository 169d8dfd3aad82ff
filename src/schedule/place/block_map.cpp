// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/block_map.h"

#include <array>
#include <bit>
#include <cassert>

namespace weir::schedule {
namespace {

constexpr std::uint32_t kWordBits = 64;

constexpr std::uint64_t mask_of(std::uint32_t first_bit, std::uint32_t size) {
  return size >= kWordBits ? ~std::uint64_t{0} : ((std::uint64_t{1} << size) - 1) << first_bit;
}

// Bits at multiples of 1, 2, 4, ... 64.
constexpr std::array<std::uint64_t, 7> kMultiples = {
    0xffffffffffffffff, 0x5555555555555555, 0x1111111111111111, 0x0101010101010101,
    0x0001000100010001, 0x0000000100000001, 0x0000000000000001};

// For each word a block touches: the word and the bits of it.
template <class Visit>
void for_words(GpuBlock block, Visit visit) {
  std::uint32_t first = block.first;
  std::uint32_t left = block.size;
  while (left > 0) {
    const std::uint32_t bit = first % kWordBits;
    const std::uint32_t here = std::min(left, kWordBits - bit);
    visit(first / kWordBits, mask_of(bit, here));
    first += here;
    left -= here;
  }
}

}  // namespace

BlockMap::BlockMap(std::uint32_t gpus)
    : taken_((gpus + kWordBits - 1) / kWordBits, 0), gpus_{gpus}, free_{gpus} {
  if (gpus % kWordBits != 0) taken_.back() = ~mask_of(0, gpus % kWordBits);
}

std::uint32_t BlockMap::free_in(GpuBlock block) const {
  if (block.end() > gpus_) return 0;
  std::uint32_t free = 0;
  for_words(block, [&](std::uint32_t word, std::uint64_t mask) {
    free += static_cast<std::uint32_t>(std::popcount(~taken_[word] & mask));
  });
  return free;
}

void BlockMap::take(GpuBlock block) {
  assert(is_free(block));
  for_words(block, [&](std::uint32_t word, std::uint64_t mask) { taken_[word] |= mask; });
  free_ -= block.size;
}

void BlockMap::give_back(GpuBlock block) {
  assert(free_in(block) == 0);
  for_words(block, [&](std::uint32_t word, std::uint64_t mask) { taken_[word] &= ~mask; });
  free_ += block.size;
}

void BlockMap::cover(GpuBlock block) {
  for_words(block, [&](std::uint32_t word, std::uint64_t mask) {
    free_ -= static_cast<std::uint32_t>(std::popcount(~taken_[word] & mask));
    taken_[word] |= mask;
  });
}

void BlockMap::cover_later(GpuBlock block) {
  for_words(block, [&](std::uint32_t word, std::uint64_t mask) { taken_[word] |= mask; });
}

void BlockMap::count_free() {
  free_ = 0;
  for (const std::uint64_t word : taken_) free_ += static_cast<std::uint32_t>(std::popcount(~word));
}

std::optional<GpuBlock> BlockMap::best_fit(std::uint32_t size) const {
  if (size == 0 || size > free_) return std::nullopt;
  return size < kWordBits ? best_fit_within_words(size) : best_fit_of_words(size);
}

std::optional<GpuBlock> BlockMap::best_fit_within_words(std::uint32_t size) const {
  const auto level = static_cast<std::uint32_t>(std::countr_zero(size));
  std::uint32_t best_level = 7;  // the largest free block around the candidate, as a power of two
  GpuBlock best;
  for (std::uint32_t word = 0; word < taken_.size(); ++word) {
    // runs: bit i says that the block of 2^k GPUs at i is free.
    std::uint64_t runs = ~taken_[word];
    for (std::uint32_t k = 0; k < level; ++k) runs = runs & (runs >> (1U << k)) & kMultiples[k + 1];
    for (std::uint32_t k = level; k < best_level && runs != 0; ++k) {
      const bool is_whole = k == 6;  // a word has no larger block around it in here
      const std::uint64_t parents = is_whole ? 0 : runs & (runs >> (1U << k)) & kMultiples[k + 1];
      const std::uint64_t lonely = is_whole ? runs : runs & ~(parents | (parents << (1U << k)));
      if (lonely != 0) {
        best_level = k;
        best = {word * kWordBits + static_cast<std::uint32_t>(std::countr_zero(lonely)), size};
        break;
      }
      runs = parents;
    }
    if (best_level == level) return best;
  }
  if (best_level == 7) return std::nullopt;
  // Only whole words are left: which of them is told by what is around it.
  if (best_level == 6) best.first = best_fit_of_words(kWordBits)->first;
  return best;
}

// A word or larger: all sizes are whole words; among equals the first.
std::optional<GpuBlock> BlockMap::best_fit_of_words(std::uint32_t size) const {
  std::uint32_t best_size = 0;
  GpuBlock best;
  for (GpuBlock candidate{0, size}; candidate.end() <= gpus_;) {
    if (!is_free(candidate)) {
      candidate.first += size;
      continue;
    }
    std::uint32_t around = size;
    while (is_free(enclosing(candidate, around * 2))) around *= 2;
    if (best_size == 0 || around < best_size) {
      best_size = around;
      best = candidate;
      if (around == size) break;
    }
    candidate.first = enclosing(candidate, around).end();  // its neighbours in there are equal
  }
  if (best_size == 0) return std::nullopt;
  return best;
}

}  // namespace weir::schedule
