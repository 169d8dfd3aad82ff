// SPDX-License-Identifier: Apache-2.0
//
// How soon jobs are done under a budget of carbon (simulate/budget_study.h): tables, JSON, and a page
// with the curve of completion time against carbon.
//
//   {"runs":[{"region":"ciso","start":"2021-07-14","way":"price_tuned","budget_percent":50,
//     "is_reached":true,"mean_completion_seconds":18400.1,"used_of_budget":0.999,"setting":"..."}],
//    "places":[{"region":"ciso","start":"2021-07-14","base_units":1293135,"base_completion_seconds":...,
//     "srtf_units":...,"srtf_completion_seconds":...}],"jobs":195,"simulations":2194}
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/result.h"
#include "report/html_page.h"
#include "report/table.h"
#include "simulate/budget_study.h"

namespace weir::report {

// The mean over all places, a column for each budget. A dash: somewhere the budget is not reached.
Table completion_table(const simulate::BudgetStudy& study, std::span<const std::int64_t> percents);
// How much sooner green is, by region.
Table gain_table(const simulate::BudgetStudy& study, std::span<const std::int64_t> percents);
// The most of its budget that each way has used anywhere.
Table used_table(const simulate::BudgetStudy& study, std::span<const std::int64_t> percents);

Result<std::string> budget_json(const simulate::BudgetStudy& study);
std::string budget_report(const ReportHeader& header, const simulate::BudgetStudy& study,
                          std::span<const std::int64_t> percents);

}  // namespace weir::report
