// SPDX-License-Identifier: Apache-2.0
//
// Who had which GPUs when: time to the right, GPUs downwards, a rectangle for each stretch that a
// job spent on a block. The solid part is what its promise needed, the light part is lent. Every
// rectangle tells on hover which job it is, where, when and why. Large runs show a part, and say
// so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/record_log.h"
#include "report/table.h"
#include "simulate/allocation_history.h"

namespace weir::report {

struct GanttLimits {
  std::size_t spans = 3000;          // a run with more shows a part, about its busiest moment,
  std::size_t spans_of_part = 1200;  // of that many
  std::size_t deadlines = 400;       // more would hide the jobs
  std::uint32_t gpus = 1024;
};

struct Gantt {
  std::string svg;
  std::string note;  // what is left out; empty when nothing is
};

// The part of a run that the chart shows.
struct GanttPart {
  Time from;
  Time to;
  bool is_all = true;
};
GanttPart gantt_part(const simulate::AllocationHistory& history, const GanttLimits& limits = {});

// The row of each pool's first GPU; the pools lie beneath each other. The last is the number of rows.
std::vector<std::uint32_t> gantt_rows(std::span<const formats::RecordLogHeader::Pool> pools);

Gantt gantt(const simulate::AllocationHistory& history,
            std::span<const formats::RecordLogHeader::Pool> pools, const GanttLimits& limits = {});

// Each job with its answer and its times; the first five hundred.
Table gantt_table(const simulate::AllocationHistory& history);

// The style sheet the chart and the usage plot rely on, beside plot_style().
std::string_view gantt_style();

}  // namespace weir::report
