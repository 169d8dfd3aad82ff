// SPDX-License-Identifier: Apache-2.0
//
// What `weir plan --overlap` shows: how long a step takes with each number of CTAs, the time line before and after,
// and what to set in NCCL. One value feeds the text, the JSON, the tuner's table and the page.
#pragma once

#include <optional>
#include <string>

#include "domain/result.h"
#include "plan/overlap/overlap_advice.h"
#include "predict/overlap/overlap_step.h"
#include "report/html_page.h"
#include "report/table.h"

namespace weir::report {

struct OverlapView {
  std::string name;
  const predict::OverlapStep& step;
  const plan::OverlapAdvice& advice;
  predict::CollectiveSystem system;
  std::optional<int> told_nodes;  // none: not said over how many nodes the ranks are
};

// What is sent beside what, in one sentence.
std::string overlap_headline(const OverlapView& view);
// What to do and what it saves, also when that is nothing.
std::string overlap_verdict(const OverlapView& view);
Table overlap_table(const OverlapView& view);
// Two lines each, before and after, on one scale.
std::string overlap_time_lines(const OverlapView& view, std::size_t width = 72);

// The environment, or the tuner's table and how to use it.
std::string nccl_settings(const OverlapView& view);
// For NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE).
std::string tuner_csv(const OverlapView& view);

// {"name", "before": {"ctas", "step_ms", "computed_ms", "exposed_ms"}, "after": {..., "collectives": [...]},
//  "uniform": [{"ctas", "step_ms"}], "each": {...}, "gain_percent", "lower_bound_ms", "nccl": {...}}
Result<std::string> overlap_json(const OverlapView& view);
std::string overlap_page(const ReportHeader& header, const OverlapView& view);

}  // namespace weir::report
