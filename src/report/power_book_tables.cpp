// SPDX-License-Identifier: Apache-2.0
#include "report/power_book_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/json_text.h"

namespace weir::report {
namespace {

using Json = nlohmann::ordered_json;

double iterations_per_second(const PowerPoint& point) {
  return static_cast<double>(point.rate.value) / 1e6;
}
double watts(std::int64_t milliwatts) {
  return static_cast<double>(milliwatts) / 1e3;
}

// The point of the same size at the full clock, against which clocks are compared.
const PowerPoint& at_full_clock(const PowerTable& table, const PowerPoint& point) {
  return *std::find_if(table.begin(), table.end(), [&](const PowerPoint& other) {
    return other.gpus == point.gpus && other.clock_permille == kFullClock;
  });
}

// The lowest clock of its size, where an iteration takes least energy.
bool is_greenest(const PowerTable& table, std::size_t i) {
  return i == 0 || table[i - 1].gpus != table[i].gpus;
}

Json to_json(const PowerTable& table) {
  Json options = Json::array();
  for (std::size_t i = 0; i < table.size(); ++i) {
    options.push_back({{"gpus", table[i].gpus},
                       {"clock_permille", table[i].clock_permille},
                       {"iterations_per_second", iterations_per_second(table[i])},
                       {"watts", watts(table[i].milliwatts)},
                       {"joules_per_iteration", joules_per_iteration(table[i])},
                       {"is_least_energy", is_greenest(table, i)}});
  }
  return options;
}

}  // namespace

double joules_per_iteration(const PowerPoint& point) {
  return watts(point.milliwatts) / iterations_per_second(point);
}

std::vector<Table> power_book_tables(const PowerBook& book) {
  std::vector<Table> tables;
  for (const auto& [key, points] : book.tables) {
    Table table{fmt::format("{}, batch {}", key.model, key.global_batch),
                {{"GPUs"},
                 {"clock %"},
                 {"it/s"},
                 {"W"},
                 {"J/it"},
                 {"slower %"},
                 {"saved %"},
                 {"", Align::left}},
                {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
      const PowerPoint& point = points[i];
      const PowerPoint& full = at_full_clock(points, point);
      const double slower = iterations_per_second(full) / iterations_per_second(point) - 1;
      const double saved = 1 - joules_per_iteration(point) / joules_per_iteration(full);
      table.rows.push_back(
          {fmt::format("{}", point.gpus), fmt::format("{:.1f}", point.clock_permille / 10.0),
           fmt::format("{:.3f}", iterations_per_second(point)),
           fmt::format("{:.1f}", watts(point.milliwatts)),
           fmt::format("{:.2f}", joules_per_iteration(point)), fmt::format("{:.1f}", 100 * slower),
           fmt::format("{:.1f}", 100 * saved), is_greenest(points, i) ? "x*" : ""});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string power_book_legend(const PowerBook& book) {
  return fmt::format(
      "W: of the job's GPUs together. slower, saved: time and energy of an iteration against the "
      "full clock. x*: the clock with the\nleast energy at its size; lower ones are left out. "
      "Only the rates at the full clock are measured; power and what the clock\ndoes are assumed "
      "(docs/models/energy.md). Beside the jobs: an idle GPU {:g} W, a node awake {:g} W, asleep "
      "{:g} W, overhead (PUE) {:.3f}.\n",
      watts(book.idle_milliwatts), watts(book.node_milliwatts), watts(book.asleep_milliwatts),
      book.overhead_permille / 1e3);
}

Result<std::string> power_book_json(const PowerBook& book) {
  Json json = {{"gpu", book.gpu},
               {"idle_watts", watts(book.idle_milliwatts)},
               {"node_watts", watts(book.node_milliwatts)},
               {"asleep_watts", watts(book.asleep_milliwatts)},
               {"overhead", book.overhead_permille / 1e3},
               {"tables", Json::array()}};
  for (const auto& [key, points] : book.tables) {
    json["tables"].push_back(
        {{"model", key.model}, {"batch", key.global_batch}, {"options", to_json(points)}});
  }
  return formats::json_text(json);
}

}  // namespace weir::report
