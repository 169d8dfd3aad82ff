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

#include "cli/output_files.h"
#include "cli/version.h"
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
                  {.name = "report",
                   .type = OptionType::file,
                   .help = "Write a page with plots to this HTML file. It opens without a network.",
                   .in_recipe = false},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON for programs instead of text for people.",
                   .in_recipe = false}},
      .examples = {{"weir network waits", "16 leaves with 16 hosts each, three loads."},
                   {"weir network waits --loads 0.4,0.6,0.8 --report waits.html", "As a page."}}};
}

namespace {

Diagnostics check_report(const OptionValues& options,
                         std::span<const std::filesystem::path> inputs) {
  Diagnostics mistakes;
  if (options.has("report")) check_output("--report", options.text("report"), inputs, mistakes);
  return mistakes;
}

Result<void> write_report(const OptionValues& options, std::string page, Console& console) {
  const OutputFile file{options.text("report"), std::move(page)};
  if (auto written = write_files({&file, 1}); !written) return written;
  console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace

Result<void> network_waits_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_report(options, {}); !mistakes.empty())
    return bad_input(std::move(mistakes));
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
  if (options.has("report")) {
    report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
    header.facts = {{"hosts", std::to_string(setup.shape.hosts())},
                    {"jobs of a run", std::to_string(setup.jobs)},
                    {"seeds", std::to_string(setup.seeds.size())}};
    if (auto written = write_report(
            options, report::fragmentation_page(header, results, setup.loads), console);
        !written)
      return written;
  }
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
                  {.name = "leaves",
                   .type = OptionType::integer_list,
                   .default_text = "128",
                   .least = 8,
                   .most = 1024,
                   .help =
                       "Leaves of 64 GPUs each (twice as many of 32 with optical circuits). "
                       "Several: one study each, with arrivals as many times slower as the fabric "
                       "is smaller, and what playing them took."},
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
                  {.name = "report",
                   .type = OptionType::file,
                   .help = "Write a page with plots to this HTML file. It opens without a network.",
                   .in_recipe = false},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON for programs instead of text for people.",
                   .in_recipe = false}},
      .examples = {
          {"weir network study", "The published mix under every scheme."},
          {"weir network study --mix heavy --gap 330 --scheme ecmp,isolated-optical",
           "Much communication, a lower load, two schemes."},
          {"weir network study --jobs 1000 --scheme ecmp,isolated --leaves 16,32,64 --report "
           "study.html",
           "How does the work grow with the fabric?"}}};
}

namespace {

// The usual fabric with another number of leaves, at the same load.
report::FabricGrowth study_fabric(simulate::JobMixStudySetup setup, int leaves) {
  const double part = static_cast<double>(leaves) / setup.fabric.leaves;
  setup.fabric.leaves = leaves;
  setup.optical.leaves = 2 * leaves;
  setup.optical.spines = leaves;
  setup.mix.arrival_gap /= part;
  const double load =
      simulate::offered_load(simulate::draw_job_mix(setup.mix), setup.fabric.hosts());
  return {setup.fabric.hosts(), load, simulate::study_job_mix(setup)};
}

std::string study_text(const OptionValues& options, std::span<const report::FabricGrowth> fabrics) {
  std::string text;
  for (const report::FabricGrowth& fabric : fabrics) {
    text += report::to_text(report::scheme_table(fabric.outcomes)) + "\n";
    text += report::to_text(report::size_table(fabric.outcomes));
    text += fmt::format(
        "\n{} jobs on {} GPUs, load {:.2f}. Slowdown, x: run time over that without "
        "contention.\nBlocked: the first of the queue waits though enough GPUs are "
        "free.\n\n",
        options.integer("jobs"), fabric.gpus, fabric.load);
  }
  if (fabrics.size() > 1) text += report::to_text(report::growth_table(fabrics)) + "\n";
  return text + options.recipe() + "\n";
}

}  // namespace

Result<void> network_study_command(const OptionValues& options, Console& console) {
  const auto file = durations_file(options);
  if (!file) return tl::unexpected(file.error());
  const std::vector<std::filesystem::path> inputs{*file};
  if (auto mistakes = check_report(options, inputs); !mistakes.empty())
    return bad_input(std::move(mistakes));
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
  std::vector<report::FabricGrowth> fabrics;
  for (const std::int64_t leaves : options.integers("leaves"))
    fabrics.push_back(study_fabric(setup, static_cast<int>(leaves)));
  if (options.has("report")) {
    report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
    header.facts = {{"GPUs", std::to_string(fabrics.back().gpus)},
                    {"jobs", std::to_string(setup.mix.jobs)},
                    {"load", fmt::format("{:.2f}", fabrics.back().load)}};
    if (auto written = write_report(options, report::job_mix_page(header, fabrics), console);
        !written)
      return written;
  }
  if (options.flag("json")) {
    auto text = fabrics.size() == 1
                    ? report::job_mix_json(fabrics.front().outcomes, fabrics.front().load)
                    : report::growth_json(fabrics);
    if (!text) return tl::unexpected(text.error());
    console.out << *text;
    return {};
  }
  console.out << study_text(options, fabrics);
  return {};
}

}  // namespace weir::cli
