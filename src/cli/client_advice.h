// SPDX-License-Identifier: Apache-2.0
//
// `weir job --advice`: fewer GPUs and more passes, or more GPUs and fewer. What each number of GPUs
// would mean for the rest of a job, in time and in money, from how fast it was on those it had.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/client_api.h"
#include "report/table.h"
#include "worker/accumulation_advice.h"

namespace weir::cli {

// What the user says beside what the server knows.
struct AdviceRequest {
  std::optional<std::int64_t> global_batch;
  std::optional<std::int64_t> micro_batch;
  std::optional<worker::Price> price;
};

struct AdviceRow {
  worker::AccumulationChoice choice;
  Duration left{};           // to do what is left
  bool is_worth_it = false;  // no other is both faster and cheaper
  bool is_now = false;
};

struct Advice {
  std::string origin;  // of the curve
  std::int64_t global_batch = 0;
  std::int64_t iterations_left = 0;
  bool has_price = false;  // otherwise bills count GPU-hours
  std::vector<AdviceRow> rows;
  std::vector<std::string> notes;
};

// From a job as the API shows it. An error says what is missing, and how to get it.
Result<Advice> advice_for(const ApiJson& job, const AdviceRequest& request);

report::Table advice_table(const Advice& advice);
// "Fastest: ...", then the notes; a line each.
std::string advice_sentences(const Advice& advice);
ApiJson advice_json(const Advice& advice);

std::vector<OptionSpec> advice_options();
// Options that mean nothing without --advice.
Diagnostics advice_mistakes(const OptionValues& options);
// The price for the GPUs of the job is asked of the server's list of nodes where prices have names.
Result<void> print_advice(ApiClient& client, const ApiJson& job, const OptionValues& options,
                          Console& console);

}  // namespace weir::cli
