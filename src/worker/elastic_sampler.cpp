// SPDX-License-Identifier: Apache-2.0
#include "worker/elastic_sampler.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include "worker/epoch_permutation.h"

namespace weir::worker {
namespace {

constexpr std::string_view kHeading = "weir-sampler 1";

// Takes " name number" off the front.
template <class Number>
bool take_field(std::string_view& text, std::string_view name, Number& number) {
  const std::string prefix = " " + std::string{name} + " ";
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

bool is_possible(const ElasticSampler::State& state) {
  return state.length >= 0 && state.length <= kLongestEpoch && state.consumed >= 0 &&
         state.consumed <= state.length;
}

}  // namespace

ElasticSampler::ElasticSampler(std::int64_t length, std::uint64_t seed, bool is_shuffled)
    : state_{length, seed, is_shuffled, 0, 0} {
  assert(is_possible(state_) && "the length of an epoch");
}

Result<bool> ElasticSampler::restore(const State& state) {
  if (state.length != state_.length)
    return bad_input({.field = "the checkpoint's data set",
                      .found = std::to_string(state.length) + " samples",
                      .expected = std::to_string(state_.length)});
  if (!is_possible(state))
    return bad_input({.field = "the checkpoint's position",
                      .found = std::to_string(state.consumed),
                      .expected = "0 to " + std::to_string(state.length)});
  state_ = state;
  return true;
}

void ElasticSampler::set_epoch(std::uint64_t epoch) {
  if (epoch == state_.epoch) return;
  state_.epoch = epoch;
  state_.consumed = 0;
}

std::optional<GlobalBatch> ElasticSampler::at(std::int64_t first, const BatchPlan& plan) const {
  if (first < 0 || first >= state_.length) return std::nullopt;
  GlobalBatch batch{first, plan.of(std::min(plan.global_batch(), state_.length - first)), {}};
  const EpochPermutation order{state_.length, state_.seed, state_.epoch};
  const std::int64_t start = first + batch.plan.first();
  batch.indices.reserve(static_cast<std::size_t>(batch.plan.samples()));
  for (std::int64_t i = start; i < start + batch.plan.samples(); ++i)
    batch.indices.push_back(state_.is_shuffled ? order[i] : i);
  return batch;
}

bool ElasticSampler::advance(const GlobalBatch& batch) {
  if (batch.first != state_.consumed) return false;
  if (batch.plan.global_batch() > state_.length - batch.first) return false;
  state_.consumed += batch.plan.global_batch();
  return true;
}

std::string encode(const ElasticSampler::State& state) {
  return std::string{kHeading} + " length " + std::to_string(state.length) + " seed " +
         std::to_string(state.seed) + " shuffled " + (state.is_shuffled ? "1" : "0") + " epoch " +
         std::to_string(state.epoch) + " consumed " + std::to_string(state.consumed);
}

Result<ElasticSampler::State> decode_sampler_state(std::string_view text) {
  const std::string found{text.substr(0, 120)};
  ElasticSampler::State state;
  int shuffled = 0;
  const bool has_heading = text.starts_with(kHeading);
  if (has_heading) text.remove_prefix(kHeading.size());
  const bool is_whole = has_heading && take_field(text, "length", state.length) &&
                        take_field(text, "seed", state.seed) &&
                        take_field(text, "shuffled", shuffled) &&
                        take_field(text, "epoch", state.epoch) &&
                        take_field(text, "consumed", state.consumed) && text.empty();
  state.is_shuffled = shuffled == 1;
  if (!is_whole || (shuffled != 0 && shuffled != 1) || !is_possible(state))
    return bad_input({.field = "the sampler's state",
                      .found = found,
                      .expected = "what encode() of this version wrote"});
  return state;
}

}  // namespace weir::worker
