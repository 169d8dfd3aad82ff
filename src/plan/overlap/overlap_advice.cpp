// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap/overlap_advice.h"

#include <algorithm>
#include <limits>
#include <map>

namespace weir::plan {
namespace {

using predict::OverlapStep;
using predict::SentGroups;

// Choice by size: where equal sizes differ, the one with most CTAs, so that nothing is sent later than planned.
std::map<std::int64_t, std::size_t> choice_by_size(const OverlapStep& step,
                                                   const std::vector<SentGroups>& sent) {
  std::map<std::int64_t, std::size_t> chosen;
  std::size_t first = 0;
  for (const SentGroups& part : sent) {
    const std::int64_t bytes = step.bytes(first, part.end);
    const auto [at, is_new] = chosen.try_emplace(bytes, part.choice);
    if (!is_new) at->second = std::max(at->second, part.choice);
    first = part.end;
  }
  return chosen;
}

// Sizes in between go with the next larger one that is known.
std::vector<TunerRule> rules_of(const OverlapStep& step,
                                const std::map<std::int64_t, std::size_t>& chosen) {
  std::vector<TunerRule> rules;
  for (const auto& [bytes, choice] : chosen) {
    const int ctas = step.ctas()[choice];
    if (!rules.empty() && rules.back().ctas == ctas) {
      rules.back().max_bytes = bytes;
    } else {
      rules.push_back(
          {rules.empty() ? std::min(kLeastRuleBytes, bytes) : rules.back().max_bytes + 1, bytes,
           ctas});
    }
  }
  if (!rules.empty()) rules.back().max_bytes = std::numeric_limits<std::int64_t>::max();
  return rules;
}

std::vector<SentGroups> with_rules(const OverlapStep& step, std::vector<SentGroups> sent,
                                   const std::vector<TunerRule>& rules) {
  std::size_t first = 0;
  for (SentGroups& part : sent) {
    const std::int64_t bytes = step.bytes(first, part.end);
    const auto rule = std::find_if(rules.begin(), rules.end(), [bytes](const TunerRule& one) {
      return bytes <= one.max_bytes;
    });
    const auto at = std::find(step.ctas().begin(), step.ctas().end(), rule->ctas);
    part.choice = static_cast<std::size_t>(at - step.ctas().begin());
    first = part.end;
  }
  return sent;
}

}  // namespace

double OverlapAdvice::gain() const {
  const double saved = 1 - after_ms() / before_ms();
  return saved < kTooNearToTell ? 0 : saved;
}

std::size_t OverlapAdvice::uniform_choice() const {
  return gain() > 0 ? best_uniform : default_choice;
}

std::vector<SentGroups> OverlapAdvice::advised(const OverlapStep& step) const {
  if (is_tuner_worth_it()) return with_rules(step, groups, tuner);
  std::vector<SentGroups> sent = groups;
  for (SentGroups& part : sent) part.choice = uniform_choice();
  return sent;
}

OverlapAdvice advise_overlap(const OverlapStep& step, std::size_t default_choice,
                             const OverlapSearchLimits& limits) {
  OverlapAdvice advice;
  advice.default_choice = default_choice;
  advice.each = search_overlap(step, limits);
  advice.groups = advice.each.sent;
  advice.uniform_ms = uniform_step_ms(step, advice.groups);
  advice.best_uniform = fewest_near_best(advice.uniform_ms);
  std::map<std::int64_t, std::size_t> chosen = choice_by_size(step, advice.groups);
  const auto set_rules = [&] {
    advice.tuner = rules_of(step, chosen);
    advice.tuner_ms = step.step_ms(with_rules(step, advice.groups, advice.tuner));
  };
  set_rules();
  if (advice.tuner_ms <= advice.uniform_best_ms()) return advice;
  // Equal sizes that want different numbers: then a table of sizes does best with one for all.
  for (auto& [bytes, choice] : chosen) choice = advice.uniform_choice();
  set_rules();
  return advice;
}

}  // namespace weir::plan
