// SPDX-License-Identifier: Apache-2.0
#include "cli/network_study_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "formats/csv.h"
#include "formats/data_dir.h"
#include "report/partition_tables.h"
#include "report/text_table.h"
#include "simulate/fragmentation_study.h"
#include "simulate/job_mix_study.h"

namespace weir::cli {
namespace {

constexpr const char* kPublicDurations = "elasticflow/traces/philly_all.csv.gz";

Result<std::filesystem::path> durations_file(const OptionValues& options) {
  if (options.has("durations")) return std::filesystem::path{options.text("durations")};
  const auto data = formats::data_dir();
  if (data && std::filesystem::exists(*data / kPublicDurations)) return *data / kPublicDurations;
  return bad_input(Diagnostic{{},
                              0,
                              "--durations",
                              {},
                              fmt::format("a file, or the public data with {}: set WEIR_DATA to "
                                          "the folder that has it",
                                          kPublicDurations)});
}

Result<std::vector<double>> read_durations(const std::filesystem::path& file) {
  auto input = formats::InputFile::open(file);
  if (!input) return tl::unexpected(input.error());
  static constexpr std::array<formats::CsvColumn, 1> kColumns{{{"duration", true, {}}}};
  formats::CsvTable table{std::move(*input), kColumns};
  std::vector<double> durations;
  while (table.next()) {
    const std::string_view cell = table.cell(0);
    double seconds = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), seconds);
    if (error != std::errc{} || end != cell.data() + cell.size() || !(seconds >= 0)) {
      table.reject(0, "seconds, 0 or more");
    } else {
      durations.push_back(seconds);
    }
  }
  if (!table.mistakes().empty()) return table.failure();
  if (durations.empty())
    return bad_input(Diagnostic{file.string(), 0, "duration", {}, "a row at least"});
  return durations;
}

}  // namespace

CommandSpec network_waits_spec() {
  return {
      .name = "network waits",
      .summary = "Tell what contention-free partitions cost in waiting.",
      .about =
          "Jobs come to a leaf-spine fabric first in, first out; the first of the queue waits "
          "while "
          "there is no partition for it. Compares a fabric where any free GPUs will do, one with "
          "fixed links (weir network partition), and one with optical circuits. Sizes 1 to 128, "
          "exponential run times, run times without contention; waits are in mean run times.",
      .options = {{.name = "leaves",
                   .type = OptionType::integer,
                   .default_text = "16",
                   .least = 1,
                   .most = 256,
                   .help = "Leaf switches."},
                  {.name = "hosts",
                   .type = OptionType::integer,
                   .default_text = "16",
                   .least = 1,
                   .most = 256,
                   .help = "Hosts under each leaf, and spines."},
                  {.name = "loads",
                   .type = OptionType::number_list,
                   .default_text = "0.5,0.6,0.7",
                   .least = 0.01,
                   .most = 0.99,
                   .help = "Work that comes, as a part of what the GPUs can do."},
                  {.name = "jobs",
                   .type = OptionType::integer,
                   .default_text = "4000",
                   .least = 1,
                   .most = 10'000'000,
                   .help = "Jobs of one run."},
                  {.name = "seeds",
                   .type = OptionType::integer_list,
                   .default_text = "1..20",
                   .least = 0,
                   .help = "One run each."},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON for programs instead of text for people.",
                   .in_recipe = false}},
      .examples = {{"weir network waits", "16 leaves with 16 hosts each, three loads."}}};
}

Result<void> network_waits_command(const OptionValues& options, Console& console) {
  simulate::FragmentationSetup setup;
  setup.shape = {.leaves = static_cast<int>(options.integer("leaves")),
                 .hosts_per_leaf = static_cast<int>(options.integer("hosts")),
                 .spines = static_cast<int>(options.integer("hosts"))};
  setup.loads = options.numbers("loads");
  setup.jobs = options.integer("jobs");
  setup.seeds.assign(options.integers("seeds").begin(), options.integers("seeds").end());
  int largest = 0;
  for (const simulate::SizeWeight& size : setup.sizes) largest = std::max(largest, size.hosts);
  if (setup.shape.hosts() < largest)
    return bad_input(
        Diagnostic{{},
                   0,
                   "--leaves",
                   std::to_string(setup.shape.leaves),
                   fmt::format("{} hosts in all at least, as the largest job has", largest)});
  const auto results = simulate::study_fragmentation(setup);
  if (options.flag("json")) {
    auto text = report::fragmentation_json(results);
    if (!text) return tl::unexpected(text.error());
    console.out << *text;
    return {};
  }
  console.out << report::to_text(report::fragmentation_table(results, setup.loads))
              << fmt::format(
                     "\n{} jobs and {} seeds each. Waits are in mean run times. Blocked: the first "
                     "of the queue waits\nthough enough GPUs are free. Least and most are those of "
                     "one seed.\n\n{}\n",
                     setup.jobs, setup.seeds.size(), options.recipe());
  return {};
}

CommandSpec network_study_spec() {
  return {
      .name = "network study",
      .summary = "Tell how soon training jobs are done, by how they share the network.",
      .about =
          "A mix of training jobs on 8,192 GPUs, first in, first out: spines by hash (ecmp), by "
          "sender (static), contention-free partitions of fixed links (isolated) or through "
          "optical "
          "circuits (isolated-optical), a rule that isolates where the predicted contention is "
          "worth the wait (chosen), and a network without limits (ideal). Jobs that meet on links "
          "are played at flow level. docs/models/network.md has the model and its limits.",
      .options = {{.name = "mix",
                   .type = OptionType::text,
                   .default_text = "published",
                   .choices = {"published", "heavy"},
                   .help = "Which jobs: as published, or with much communication."},
                  {.name = "scheme",
                   .type = OptionType::text_list,
                   .default_text = "ecmp,static,isolated,isolated-optical,chosen,ideal",
                   .choices = simulate::network_scheme_names(),
                   .help = "How they share the network."},
                  {.name = "jobs",
                   .type = OptionType::integer,
                   .default_text = "5000",
                   .least = 1,
                   .most = 1'000'000,
                   .help = "Jobs that come."},
                  {.name = "gap",
                   .type = OptionType::number,
                   .unit = "s",
                   .default_text = "241",
                   .least = 0.001,
                   .help = "Mean time between arrivals."},
                  {.name = "durations",
                   .type = OptionType::file,
                   .help =
                       "A CSV file with a column duration, in seconds, clamped to 1,000..100,000. "
                       "Default: philly_all of the public data."},
                  {.name = "placement",
                   .type = OptionType::text,
                   .default_text = "compact",
                   .choices = {"compact", "scattered"},
                   .help = "Where jobs that share lie: on few leaves, or on nodes by chance."},
                  {.name = "window",
                   .type = OptionType::integer,
                   .default_text = "5",
                   .least = 1,
                   .most = 1000,
                   .help = "Iterations played for each state of the network."},
                  {.name = "seed",
                   .type = OptionType::integer,
                   .default_text = "1",
                   .least = 0,
                   .help = "Which jobs come, and which spines hashes give."},
                  {.name = "threads",
                   .type = OptionType::integer,
                   .default_text = "0",
                   .least = 0,
                   .most = 1024,
                   .help = "Schemes at once; 0: as many as cores.",
                   .in_recipe = false},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON for programs instead of text for people.",
                   .in_recipe = false}},
      .examples = {{"weir network study", "The published mix under every scheme."},
                   {"weir network study --mix heavy --gap 330 --scheme ecmp,isolated-optical",
                    "Much communication, a lower load, two schemes."}}};
}

Result<void> network_study_command(const OptionValues& options, Console& console) {
  const auto file = durations_file(options);
  if (!file) return tl::unexpected(file.error());
  auto durations = read_durations(*file);
  if (!durations) return tl::unexpected(durations.error());
  simulate::JobMixStudySetup setup;
  setup.mix.durations = std::move(*durations);
  setup.mix.mix =
      options.text("mix") == "heavy" ? simulate::JobMix::heavy : simulate::JobMix::published;
  setup.mix.jobs = options.integer("jobs");
  setup.mix.arrival_gap = options.number("gap");
  setup.mix.seed = static_cast<std::uint64_t>(options.integer("seed"));
  setup.is_scattered = options.text("placement") == "scattered";
  setup.window = static_cast<int>(options.integer("window"));
  setup.threads = static_cast<unsigned>(options.integer("threads"));
  setup.schemes.clear();
  for (const std::string& name : options.texts("scheme"))
    setup.schemes.push_back(*simulate::find_network_scheme(name));
  const double load =
      simulate::offered_load(simulate::draw_job_mix(setup.mix), setup.fabric.hosts());
  const auto outcomes = simulate::study_job_mix(setup);
  if (options.flag("json")) {
    auto text = report::job_mix_json(outcomes, load);
    if (!text) return tl::unexpected(text.error());
    console.out << *text;
    return {};
  }
  console.out << report::to_text(report::scheme_table(outcomes)) << "\n"
              << report::to_text(report::size_table(outcomes))
              << fmt::format(
                     "\n{} jobs on {} GPUs, load {:.2f}. Slowdown, x: run time over that without "
                     "contention.\nBlocked: the first of the queue waits though enough GPUs are "
                     "free.\n\n{}\n",
                     setup.mix.jobs, setup.fabric.hosts(), load, options.recipe());
  return {};
}

}  // namespace weir::cli
