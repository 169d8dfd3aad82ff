// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_curve_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "cli/transformer_output.h"
#include "domain/whole_numbers.h"
#include "formats/json_text.h"
#include "formats/rounded_number.h"
#include "formats/throughput_table.h"
#include "plan/transformer/transformer_advice.h"
#include "plan/transformer/transformer_curve.h"
#include "report/plan_tables.h"
#include "report/text_table.h"
#include "report/transformer_accuracy.h"
#include "report/transformer_tables.h"

namespace weir::cli {
namespace {

using plan::PlannedSize;

constexpr double kGiBOfCurve = 1024.0 * 1024 * 1024;
constexpr double kLeastRate = 1e-6;  // of a throughput table, in iterations a second

// A part of a node, also such as jobs are given (powers of two), or whole nodes.
bool is_usual_size(int gpus, int gpus_per_node) {
  if (gpus > gpus_per_node) return gpus % gpus_per_node == 0;
  return gpus_per_node % gpus == 0 || is_power_of_two(gpus);
}

std::vector<int> parts_of_a_node(int gpus_per_node) {
  std::vector<int> parts;
  for (int gpus = 1; gpus <= gpus_per_node; ++gpus)
    if (is_usual_size(gpus, gpus_per_node)) parts.push_back(gpus);
  return parts;
}

double rate_of(const PlannedSize& size) {
  return 1 / size.best->time.iteration;
}

std::string gpus_text(int gpus) {
  return fmt::format("{} {}", gpus, gpus == 1 ? "GPU" : "GPUs");
}

bool has_range(const OptionValues& options) {
  constexpr std::string_view kOption = "--curve ";
  const std::string& recipe = options.recipe();
  const std::size_t at = recipe.find(kOption);
  if (at == std::string::npos) return false;
  const std::size_t begin = at + kOption.size();
  return recipe.substr(begin, recipe.find(' ', begin) - begin).find("..") != std::string::npos;
}

// Numbers of --curve that stand there by themselves: whoever writes 1..64 does not ask for 37.
std::vector<std::int64_t> written_out(const OptionValues& options) {
  const std::vector<std::int64_t>& all = options.integers("curve");
  std::vector<std::int64_t> alone;
  for (const std::int64_t size : all) {
    const auto has = [&](std::int64_t other) {
      return std::find(all.begin(), all.end(), other) != all.end();
    };
    if (!has_range(options) || (!has(size - 1) && !has(size + 1))) alone.push_back(size);
  }
  return alone;
}

// Zeros alone say nothing.
std::string rate_words(const PlannedSize& size) {
  constexpr double kShownInFull = 1e-3;
  const double rate = rate_of(size);
  return rate < kShownInFull ? fmt::format("{:.3g}", rate) : fmt::format("{:.6f}", rate);
}

std::vector<std::string> curve_notes(const OptionValues& options, const TransformerSetup& setup,
                                     const std::vector<PlannedSize>& curve) {
  std::vector<std::string> notes = setup.notes;
  std::vector<std::int64_t> dropped = written_out(options);
  std::erase_if(dropped, [&](std::int64_t size) {
    return is_usual_size(static_cast<int>(size), setup.gpus_per_node);
  });
  if (!dropped.empty())
    notes.push_back(
        fmt::format("no plan was made for {} GPUs: neither a part of a node of {} nor "
                    "whole nodes",
                    fmt::join(dropped, ", "), setup.gpus_per_node));
  const PlannedSize* before = nullptr;
  for (const PlannedSize& size : curve) {
    if (!size.best) continue;
    if (before != nullptr && size.gpus > before->gpus && rate_of(size) < rate_of(*before))
      notes.push_back(fmt::format("{} are slower than {}: {} instead of {} iterations/s",
                                  gpus_text(size.gpus), before->gpus, rate_words(size),
                                  rate_words(*before)));
    if (rate_of(size) < kLeastRate)
      notes.push_back(fmt::format(
          "{}: an iteration takes {} s; tables of throughput begin at one in 1,000,000 s, so it is "
          "left out of the table",
          gpus_text(size.gpus), report::with_commas(size.best->time.iteration, 0)));
    before = &size;
  }
  return notes;
}

const PlannedSize* smallest_planned(const std::vector<PlannedSize>& curve) {
  const auto at = std::find_if(curve.begin(), curve.end(),
                               [](const PlannedSize& size) { return size.best.has_value(); });
  return at == curve.end() ? nullptr : &*at;
}

std::string curve_text(const OptionValues& options, const TransformerSetup& setup,
                       const std::vector<PlannedSize>& curve) {
  const PlannedSize& one = *smallest_planned(curve);
  report::Table table{"Planned curve",
                      {{"GPUs"},
                       {"iterations/s"},
                       {fmt::format("times that of {}", one.gpus)},
                       {"GiB"},
                       {"plan", report::Align::left}},
                      {}};
  for (const PlannedSize& entry : curve) {
    if (!entry.best) {
      table.rows.push_back({std::to_string(entry.gpus), "-", "-", "-",
                            report::why_no_plan_on(setup.request, entry)});
      continue;
    }
    table.rows.push_back({std::to_string(entry.gpus), rate_words(entry),
                          fmt::format("{:.2f}", rate_of(entry) / rate_of(one)),
                          fmt::format("{:.1f}", entry.best->memory.needed / kGiBOfCurve),
                          report::plan_words(entry.best->plan)});
  }
  const predict::TransformerTask& task = setup.request.task;
  return fmt::format("{}\nGPUs: {}.\n\n{}\n{}\n{}\n", report::model_words(setup.title, task),
                     task.gpu.name, report::to_text(table), report::compute_times_words(task),
                     options.recipe());
}

nlohmann::ordered_json curve_json(const TransformerSetup& setup,
                                  const std::vector<PlannedSize>& curve,
                                  const std::vector<std::string>& notes) {
  const predict::TransformerTask& task = setup.request.task;
  auto points = nlohmann::ordered_json::array();
  for (const PlannedSize& entry : curve) {
    nlohmann::ordered_json point{{"gpus", entry.gpus}};
    if (entry.best) {
      point["iterations_per_s"] = rate_of(entry);
      point["memory_mib"] = formats::thousandths(entry.best->memory.needed / (1024.0 * 1024));
      point["plan"] = report::plan_words(entry.best->plan);
    } else {
      point["reason"] = report::why_no_plan_on(setup.request, entry);
    }
    points.push_back(std::move(point));
  }
  return {{"origin", "planned"},
          {"model", setup.title},
          {"parameters", task.model.elements()},
          {"gpu", std::string{task.gpu.name}},
          {"gpus_per_node", setup.gpus_per_node},
          {"memory_limit_mib", formats::thousandths(setup.request.memory_bytes / (1024.0 * 1024))},
          {"sequence", task.sequence},
          {"compute_times", predict::compute_source(task)},
          {"accuracy", report::transformer_accuracy(task)},
          {"batch", task.batch},
          {"curve", std::move(points)},
          {"notes", notes}};
}

// As formats/throughput_table.h has it.
std::string throughput_csv(const std::vector<PlannedSize>& curve, std::int64_t batch) {
  std::string sizes = "global_batch_size";
  std::string rates = std::to_string(batch);
  for (const PlannedSize& entry : curve) {
    sizes += fmt::format(",{}", entry.gpus);
    const bool has_rate = entry.best && rate_of(entry) >= kLeastRate;
    rates += has_rate ? fmt::format(",{:.6f}", rate_of(entry)) : ",";
  }
  return fmt::format("{}\n{}\n{}\n", formats::kPlannedLine, sizes, rates);
}

}  // namespace

Result<void> plan_transformer_curve(const OptionValues& options, const TransformerSetup& setup,
                                    Console& console) {
  std::vector<int> sizes;
  for (const std::int64_t gpus : options.integers("curve")) {
    const int size = static_cast<int>(gpus);
    if (is_usual_size(size, setup.gpus_per_node)) sizes.push_back(size);
  }
  if (sizes.empty()) {
    return bad_input(
        {{},
         0,
         "--curve",
         fmt::format("{}", fmt::join(options.integers("curve"), ",")),
         fmt::format("one of {} or more nodes of {}: parts of a node, or whole nodes",
                     fmt::join(parts_of_a_node(setup.gpus_per_node), ", "), setup.gpus_per_node)});
  }
  const std::vector<PlannedSize> curve = plan::plan_sizes(setup.request, sizes);
  if (smallest_planned(curve) == nullptr) {
    return tl::unexpected(no_plan_error(options, plan::on_gpus(setup.request, curve.back().gpus),
                                        setup.gpus_per_node));
  }
  const std::vector<std::string> notes = curve_notes(options, setup, curve);
  for (const std::string& note : notes) console.err << "note: " << note << "\n";
  std::string file = throughput_csv(curve, setup.request.task.batch);
  if (!options.flag("json"))
    return publish(options, curve_text(options, setup, curve), std::move(file), console);
  auto text = formats::json_text(curve_json(setup, curve, notes), formats::JsonLayout::compact);
  if (!text) return tl::unexpected(text.error());
  return publish(options, *text + "\n", std::move(file), console);
}

}  // namespace weir::cli
