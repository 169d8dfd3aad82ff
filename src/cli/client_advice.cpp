// SPDX-License-Identifier: Apache-2.0
#include "cli/client_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <utility>

#include "domain/work.h"
#include "formats/quantity_text.h"
#include "report/clock_text.h"
#include "report/gpus_text.h"
#include "report/text_table.h"
#include "worker/advice_from_curve.h"

namespace weir::cli {
namespace {

constexpr int kPriceDecimals = 6;
constexpr std::int64_t kOneUnit = 1'000'000;
// What was measured is offered, however uneven its division is.
constexpr std::int32_t kAnyImbalance = 1'000'000;
constexpr std::int32_t kMostGpus = 65'536;

tl::unexpected<Error> missing(const ApiJson& job, std::string field, std::string how) {
  return bad_input(
      Diagnostic{"", 0, fmt::format("{} of {}", field, text_in(job, "name")), "", std::move(how)});
}

const ApiJson* object_in(const ApiJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? &*found : nullptr;
}

std::optional<IterationRate> rate_of(const ApiJson& number) {
  if (!number.is_number()) return std::nullopt;
  const double micro = number.get<double>() * 1e6;
  if (!(micro >= 1 && micro < 1e18)) return std::nullopt;
  return IterationRate{std::llround(micro)};
}

// By GPUs. What the job makes now counts more than what it was planned with.
std::map<std::int32_t, IterationRate> rates_of(const ApiJson& job) {
  std::map<std::int32_t, IterationRate> rates;
  const ApiJson* const curve = object_in(job, "curve");
  const ApiJson* const points = curve == nullptr ? nullptr : object_in(*curve, "rates");
  if (points != nullptr) {
    for (const auto& [size, rate] : points->items()) {
      const auto gpus = formats::parse_count(size);
      const auto known = rate_of(rate);
      if (gpus && *gpus >= 1 && *gpus <= kMostGpus && known) {
        rates[static_cast<std::int32_t>(*gpus)] = *known;
      }
    }
  }
  const auto now = integer_in(job, "gpus").value_or(0);
  const auto rate = job.contains("rate") ? rate_of(job["rate"]) : std::nullopt;
  if (now >= 1 && now <= kMostGpus && rate) rates[static_cast<std::int32_t>(now)] = *rate;
  return rates;
}

std::int64_t batch_member(const ApiJson& job, const char* key) {
  const ApiJson* const batch = object_in(job, "batch");
  return batch == nullptr ? 0 : integer_in(*batch, key).value_or(0);
}

struct Batch {
  std::int64_t global = 0;
  std::int64_t micro = 0;
};

Result<Batch> batch_of(const ApiJson& job, const AdviceRequest& request) {
  const Batch batch{request.global_batch.value_or(batch_member(job, "global")),
                    request.micro_batch.value_or(batch_member(job, "local"))};
  if (batch.global >= 1 && batch.micro >= 1) return batch;
  return missing(job, "the batch",
                 "a script that tells it (weir_worker.batch_plan does), or --batch and "
                 "--micro-batch");
}

std::vector<std::string> notes_on(const std::string& origin,
                                  const std::map<std::int32_t, IterationRate>& rates) {
  std::vector<std::string> notes;
  if (origin != "measured") {
    notes.push_back(
        fmt::format("Its throughput is {}, not measured: the advice is as good as that.",
                    origin.empty() ? "of unknown origin" : origin));
  }
  if (!rates.contains(1)) {
    notes.emplace_back(
        "One GPU was not measured: part of the synchronising is counted as computing.");
  }
  notes.emplace_back(
      "All was measured with one micro-batch, so what a pass costs by itself is not known: this "
      "compares numbers of GPUs, not sizes of micro-batches.");
  return notes;
}

Duration times(Duration step, std::int64_t count) {
  constexpr WideInteger kLongest = Duration::max().count();
  const WideInteger all = WideInteger{step.count()} * count;
  return Duration{static_cast<std::int64_t>(std::min(all, kLongest))};
}

// The one with the fewest passes of each size: more would take the same time by this account.
std::vector<worker::AccumulationChoice> one_of_each_size(
    const std::vector<worker::AccumulationChoice>& choices) {
  std::vector<worker::AccumulationChoice> kept;
  for (const worker::AccumulationChoice& choice : choices) {
    if (kept.empty() || kept.back().gpus != choice.gpus) kept.push_back(choice);
  }
  return kept;
}

double bill_left(const Advice& advice, const AdviceRow& row) {
  return worker::to_currency(row.choice.step_bill) * static_cast<double>(advice.iterations_left);
}

std::string money_text(double amount) {
  return amount < 1 ? fmt::format("{:.3g}", amount) : fmt::format("{:.2f}", amount);
}

double gpu_hours(const AdviceRow& row) {
  return to_seconds(row.left) / 3600 * row.choice.gpus;
}

// "T4=1.2" or "1.2"; nothing when it is neither.
struct NamedPrice {
  std::string gpu;  // empty: of any
  worker::Price price;
};

std::optional<NamedPrice> parse_price(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const bool has_name = equals != std::string::npos;
  const auto price =
      formats::parse_decimal(has_name ? text.substr(equals + 1) : text, kPriceDecimals);
  constexpr std::int64_t kMost = 4000 * kOneUnit;
  if (!price || *price > kMost || equals == 0) return std::nullopt;
  return NamedPrice{has_name ? text.substr(0, equals) : "", worker::Price{*price}};
}

// The GPU models of the nodes that the job has, or of all.
Result<std::set<std::string>> models_for(ApiClient& client, const ApiJson& job) {
  const auto answer = client.get("/v1/nodes");
  if (!answer) return tl::unexpected(answer.error());
  std::set<std::string> own;
  if (job.contains("nodes") && job["nodes"].is_array()) {
    for (const ApiJson& node : job["nodes"]) {
      if (node.is_string()) own.insert(node.get<std::string>());
    }
  }
  std::set<std::string> models;
  if (!answer->contains("nodes") || !(*answer)["nodes"].is_array()) return models;
  for (const ApiJson& node : (*answer)["nodes"]) {
    if (!own.empty() && !own.contains(text_in(node, "name"))) continue;
    const std::string model = text_in(node, "model");
    if (!model.empty()) models.insert(model);
  }
  return models;
}

Result<std::optional<worker::Price>> price_for(ApiClient& client, const ApiJson& job,
                                               const OptionValues& options) {
  if (!options.has("price")) return std::optional<worker::Price>{};
  const std::vector<std::string>& texts = options.texts("price");
  std::vector<NamedPrice> prices;
  Diagnostics mistakes;
  for (const std::string& text : texts) {
    if (const auto price = parse_price(text)) {
      prices.push_back(*price);
    } else {
      mistakes.add({"", 0, "--price", text, "a price up to 4000 an hour, such as 1.2 or T4=1.2"});
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (prices.size() == 1 && prices.front().gpu.empty()) return std::optional{prices.front().price};
  const auto models = models_for(client, job);
  if (!models) return tl::unexpected(models.error());
  const auto is_its_own = [&](const NamedPrice& price) {
    return models->size() == 1 && *models->begin() == price.gpu;
  };
  const auto found = std::find_if(prices.begin(), prices.end(), is_its_own);
  if (found != prices.end()) return std::optional{found->price};
  return bad_input(Diagnostic{
      "", 0, "--price", fmt::format("{}", fmt::join(texts, ",")),
      models->size() == 1 ? fmt::format("a price for {}, on which it runs", *models->begin())
                          : "one price without a name: it is not certain on which GPUs it "
                            "will run"});
}

}  // namespace

Result<Advice> advice_for(const ApiJson& job, const AdviceRequest& request) {
  const auto iterations = integer_in(job, "iterations");
  if (!iterations) {
    return missing(job, "the iterations", "a training job: one that says `iterations`");
  }
  const auto rates = rates_of(job);
  if (rates.size() < 2) {
    return missing(job, "the throughput on two sizes or more",
                   "a job that ran on two sizes and reports its progress, or one with `profile: "
                   "true`, or `throughput` in its file");
  }
  const auto batch = batch_of(job, request);
  if (!batch) return tl::unexpected(batch.error());
  std::vector<worker::MeasuredStep> steps;
  steps.reserve(rates.size());
  for (const auto& [gpus, rate] : rates) {
    steps.push_back({gpus, time_for(work_of_iterations(1), rate)});
  }
  auto gpu = worker::gpu_from_curve(batch->global, batch->micro, std::move(steps));
  if (!gpu) return tl::unexpected(gpu.error());
  gpu->name = "GPU";
  gpu->price = request.price.value_or(worker::Price{kOneUnit});
  const auto choices = worker::accumulation_choices(
      {.global_batch = batch->global, .gpus = {*gpu}, .most_imbalance_permille = kAnyImbalance});
  if (!choices) return tl::unexpected(choices.error());

  Advice advice;
  const ApiJson* const curve = object_in(job, "curve");
  advice.origin = curve == nullptr ? "" : text_in(*curve, "origin");
  advice.global_batch = batch->global;
  advice.iterations_left =
      std::max<std::int64_t>(0, *iterations - integer_in(job, "done").value_or(0));
  advice.has_price = request.price.has_value();
  advice.notes = notes_on(advice.origin, rates);
  const auto offered = one_of_each_size(*choices);
  const auto worth = worker::worth_considering(offered);
  for (const worker::AccumulationChoice& choice : offered) {
    advice.rows.push_back({choice, times(choice.step_time, advice.iterations_left),
                           std::find(worth.begin(), worth.end(), choice) != worth.end(),
                           choice.gpus == integer_in(job, "gpus").value_or(0)});
  }
  return advice;
}

report::Table advice_table(const Advice& advice) {
  using report::Align;
  report::Table table{fmt::format("{} iterations left, {} samples each", advice.iterations_left,
                                  advice.global_batch),
                      {{"GPUs", Align::right},
                       {"passes", Align::right},
                       {"micro-batch", Align::right},
                       {"s per step", Align::right},
                       {"to finish", Align::right},
                       {"GPU-hours", Align::right}},
                      {}};
  if (advice.has_price) table.columns.push_back({"cost", Align::right});
  table.columns.push_back({"worth it", Align::left});
  table.columns.push_back({"", Align::left});
  for (const AdviceRow& row : advice.rows) {
    std::vector<std::string> cells{fmt::format("{}", row.choice.gpus),
                                   fmt::format("{}", row.choice.passes),
                                   fmt::format("{}", row.choice.micro_batch),
                                   fmt::format("{:.4g}", to_seconds(row.choice.step_time)),
                                   report::length_text(row.left),
                                   fmt::format("{:.3f}", gpu_hours(row))};
    if (advice.has_price) cells.push_back(money_text(bill_left(advice, row)));
    cells.emplace_back(row.is_worth_it ? "yes" : "");
    cells.emplace_back(row.is_now ? "now" : "");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string advice_sentences(const Advice& advice) {
  std::string text;
  const auto by_time = [](const AdviceRow& a, const AdviceRow& b) {
    return a.choice.step_time < b.choice.step_time;
  };
  const auto by_bill = [](const AdviceRow& a, const AdviceRow& b) {
    return a.choice.step_bill < b.choice.step_bill;
  };
  const AdviceRow& fastest = *std::min_element(advice.rows.begin(), advice.rows.end(), by_time);
  const AdviceRow& cheapest = *std::min_element(advice.rows.begin(), advice.rows.end(), by_bill);
  if (fastest.choice == cheapest.choice) {
    text += fmt::format("Fastest and cheapest: {}.\n", report::gpus_text(fastest.choice.gpus));
  } else {
    text +=
        fmt::format("Fastest: {}. Cheapest: {}, {:.2f} times as long for {:.2f} of the {}.\n",
                    report::gpus_text(fastest.choice.gpus), report::gpus_text(cheapest.choice.gpus),
                    to_seconds(cheapest.choice.step_time) / to_seconds(fastest.choice.step_time),
                    worker::to_currency(cheapest.choice.step_bill) /
                        worker::to_currency(fastest.choice.step_bill),
                    advice.has_price ? "cost" : "GPU-hours");
  }
  for (const std::string& note : advice.notes) text += note + "\n";
  return text;
}

ApiJson advice_json(const Advice& advice) {
  ApiJson json = {{"origin", advice.origin},
                  {"global_batch", advice.global_batch},
                  {"iterations_left", advice.iterations_left},
                  {"choices", ApiJson::array()},
                  {"notes", advice.notes}};
  for (const AdviceRow& row : advice.rows) {
    ApiJson choice = {{"gpus", row.choice.gpus},
                      {"passes", row.choice.passes},
                      {"micro_batch", row.choice.micro_batch},
                      {"seconds_per_step", to_seconds(row.choice.step_time)},
                      {"seconds_left", to_seconds(row.left)},
                      {"gpu_hours", gpu_hours(row)},
                      {"worth_it", row.is_worth_it},
                      {"now", row.is_now}};
    if (advice.has_price) choice["cost"] = bill_left(advice, row);
    json["choices"].push_back(std::move(choice));
  }
  return json;
}

std::vector<OptionSpec> advice_options() {
  return {{.name = "advice",
           .type = OptionType::flag,
           .help = "What fewer GPUs with more passes, or more with fewer, would mean for the rest "
                   "of it, in time and cost."},
          {.name = "price",
           .type = OptionType::text_list,
           .unit = "per GPU and hour",
           .help = "With --advice: what a GPU costs, 1.2, or by kind, A100=2.5,T4=0.4."},
          {.name = "batch",
           .type = OptionType::integer,
           .unit = "samples",
           .least = 1,
           .most = 4e9,
           .help = "With --advice: the global batch, where the job does not tell it."},
          {.name = "micro-batch",
           .type = OptionType::integer,
           .unit = "samples",
           .least = 1,
           .most = 4e9,
           .help = "With --advice: the most samples in a pass of one GPU, where the job does not "
                   "tell it."}};
}

Diagnostics advice_mistakes(const OptionValues& options) {
  Diagnostics mistakes;
  if (options.flag("advice")) return mistakes;
  for (const char* option : {"price", "batch", "micro-batch"}) {
    if (!options.is_given(option)) continue;
    mistakes.add({"", 0, fmt::format("--{}", option), "without --advice", "--advice beside it"});
  }
  return mistakes;
}

Result<void> print_advice(ApiClient& client, const ApiJson& job, const OptionValues& options,
                          Console& console) {
  AdviceRequest request;
  const auto price = price_for(client, job, options);
  if (!price) return tl::unexpected(price.error());
  request.price = *price;
  if (options.has("batch")) request.global_batch = options.integer("batch");
  if (options.has("micro-batch")) request.micro_batch = options.integer("micro-batch");
  const auto advice = advice_for(job, request);
  if (!advice) return tl::unexpected(advice.error());
  if (options.flag("json")) return print_json(advice_json(*advice), console);
  console.out << report::to_text(advice_table(*advice)) << advice_sentences(*advice);
  return {};
}

}  // namespace weir::cli
