// SPDX-License-Identifier: Apache-2.0
#include "cli/network_simulate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/output_files.h"
#include "cli/version.h"
#include "domain/seeded_rng.h"
#include "formats/data_amount_text.h"
#include "formats/fabric_yaml.h"
#include "formats/network_mix_yaml.h"
#include "network/fabric_run.h"
#include "report/network_report.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

namespace net = weir::network;
using net::Routing;

constexpr std::size_t kLinksShown = 5;
constexpr std::size_t kRateSamples = 400;
constexpr std::string_view kModeNames[] = {"stepwise", "steady"};

std::vector<std::string> network_names(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

template <class Kind, std::size_t N>
Kind kind_named(const std::string_view (&names)[N], std::string_view name) {
  return static_cast<Kind>(std::find(std::begin(names), std::end(names), name) - std::begin(names));
}

Diagnostics check_network_options(const OptionValues& options) {
  Diagnostics mistakes;
  const auto must = [&](std::string option, std::string found, std::string what) {
    mistakes.add({{}, 0, std::move(option), std::move(found), std::move(what)});
  };
  if (options.has("jobs")) {
    for (const char* option : {"collective", "ranks", "bytes", "mode"}) {
      if (!options.is_given(option)) continue;
      const bool is_number = std::string_view{option} == "ranks";
      must(fmt::format("--{}", option),
           is_number ? std::to_string(options.integer(option)) : options.text(option),
           "to be left out beside --jobs: the file says it");
    }
  }
  const std::string& routing = options.text("routing");
  if (options.is_given("connections") && routing != "ecmp")
    must("--connections", std::to_string(options.integer("connections")),
         "--routing ecmp beside it");
  if (options.is_given("threshold") && routing != "two-hop")
    must("--threshold", fmt::format("{}", options.number("threshold")),
         "--routing two-hop beside it");
  if (options.has("fail") && routing == "ideal")
    must("--fail", options.texts("fail").front(), "another --routing: with ideal no link counts");
  if (options.is_given("fail-at") && !options.has("fail"))
    must("--fail-at", fmt::format("{}", options.number("fail-at")), "--fail beside it");
  if (!formats::parse_data_size(options.text("bytes")))
    must("--bytes", options.text("bytes"), std::string{formats::kDataSizeRule});
  std::vector<std::filesystem::path> inputs;
  if (options.has("jobs")) inputs.emplace_back(options.text("jobs"));
  inputs.emplace_back(options.text("fabric"));
  if (options.has("report")) check_output("--report", options.text("report"), inputs, mistakes);
  return mistakes;
}

Result<NetworkMix> mix_of(const OptionValues& options, const net::Fabric& fabric) {
  if (options.has("jobs")) {
    auto input = formats::InputFile::open(options.text("jobs"));
    if (!input) return tl::unexpected(input.error());
    return formats::read_network_mix(std::move(*input));
  }
  MixJob job;
  job.name = options.text("collective");
  job.collective = kind_named<CollectiveKind>(kNetworkCollectiveNames, options.text("collective"));
  job.mode = kind_named<PlayMode>(kModeNames, options.text("mode"));
  job.gpus = options.has("ranks") ? static_cast<std::int32_t>(options.integer("ranks"))
                                  : static_cast<std::int32_t>(fabric.gpus());
  job.bytes = *formats::parse_data_size(options.text("bytes"));
  return NetworkMix{{std::move(job)}};
}

// Jobs take GPUs in the order of the file: the next in a row, or the next of a shuffled row.
Result<std::vector<net::NetworkJob>> placed_jobs(const OptionValues& options, const NetworkMix& mix,
                                                 const net::Fabric& fabric) {
  std::vector<net::GpuIndex> order(fabric.gpus());
  std::iota(order.begin(), order.end(), 0U);
  if (options.text("placement") == "scattered") {
    SeededRng{static_cast<std::uint64_t>(options.integer("seed"))}.fork("placement").shuffle(order);
  }
  Diagnostics mistakes;
  const std::string file = options.has("jobs") ? options.text("jobs") : "";
  const std::string field = options.has("jobs") ? "gpus" : "--ranks";
  std::size_t used = 0;
  std::vector<net::NetworkJob> jobs;
  for (const MixJob& given : mix.jobs) {
    const auto count = static_cast<std::size_t>(given.gpus);
    if (count < 2 || count > order.size() - used) {
      mistakes.add(
          {file, given.line, field, std::to_string(given.gpus),
           fmt::format("2 to {}: {} has {} GPUs{}", order.size() - used, fabric.name, order.size(),
                       used > 0 ? fmt::format(", other jobs have {}", used) : "")});
      continue;
    }
    net::NetworkJob job;
    job.name = given.name;
    job.gpus.assign(order.begin() + static_cast<std::ptrdiff_t>(used),
                    order.begin() + static_cast<std::ptrdiff_t>(used + count));
    used += count;
    job.starts_at = given.start_seconds;
    job.iterations = static_cast<std::uint64_t>(given.iterations);
    job.compute_seconds = given.compute_seconds;
    job.collectives = {{given.collective, given.bytes, given.ready_seconds, given.mode}};
    job.options.ranks_per_node = std::max(1U, fabric.gpus_per_node);
    if (given.collective == CollectiveKind::hierarchical && count % fabric.gpus_per_node != 0) {
      mistakes.add({file, given.line, field, std::to_string(given.gpus),
                    fmt::format("a multiple of the GPUs of a node, {}", fabric.gpus_per_node)});
    }
    jobs.push_back(std::move(job));
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return jobs;
}

// Links by their names, in either direction. A name stands for all parallel links between the two.
Result<std::vector<net::LinkIndex>> links_to_fail(const OptionValues& options,
                                                  const net::Fabric& fabric) {
  std::vector<net::LinkIndex> links;
  if (!options.has("fail")) return links;
  std::multimap<std::string, net::LinkIndex> by_name;
  for (net::LinkIndex link = 0; link < fabric.links.size(); ++link)
    by_name.emplace(fabric.link_name(link), link);
  Diagnostics mistakes;
  for (const std::string& name : options.texts("fail")) {
    const auto [first, last] = by_name.equal_range(name);
    if (first == last) {
      const auto example = static_cast<net::LinkIndex>(fabric.links.size() - 1);
      mistakes.add(
          {{},
           0,
           "--fail",
           name,
           fmt::format("a link of {}, such as \"{}\"", fabric.name, fabric.link_name(example))});
    }
    for (auto at = first; at != last; ++at) links.push_back(at->second);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return links;
}

// Whether every job's GPUs still reach each other by the ways that routing knows.
Result<void> check_still_connected(const net::RoutingOptions& routing, const net::Fabric& fabric,
                                   const std::vector<net::NetworkJob>& jobs,
                                   const std::vector<net::LinkIndex>& failed) {
  if (failed.empty()) return {};
  net::Router router{fabric, routing};
  for (const net::LinkIndex link : failed) router.fail(link);
  std::vector<std::uint32_t> crowd(fabric.links.size());
  std::vector<net::RoutedFlow> flows;
  std::vector<std::uint32_t> lost;
  Diagnostics mistakes;
  for (const net::NetworkJob& job : jobs) {
    // Every GPU's own port, and every pair of leaves.
    std::vector<net::Transfer> transfers;
    std::map<net::VertexIndex, net::GpuIndex> on_leaf;
    for (std::size_t i = 0; i < job.gpus.size(); ++i) {
      transfers.push_back({job.gpus[i], job.gpus[(i + 1) % job.gpus.size()], 1, 0});
      on_leaf.emplace(fabric.ports[job.gpus[i]].leaf, job.gpus[i]);
    }
    for (const auto& [from_leaf, from] : on_leaf) {
      for (const auto& [to_leaf, to] : on_leaf) {
        if (from_leaf != to_leaf) transfers.push_back({from, to, 1, 0});
      }
    }
    lost.clear();
    flows.clear();
    router.route(transfers, crowd, flows, lost);
    if (lost.empty()) continue;
    const net::Transfer& first = transfers[lost.front()];
    mistakes.add(
        {{},
         0,
         "--fail",
         fmt::format("{} links", failed.size()),
         fmt::format("fewer: {} of job {} has no way to {} without them",
                     fabric.vertex_name(first.from), job.name, fabric.vertex_name(first.to))});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return {};
}

net::RoutingOptions asked_routing(const OptionValues& options) {
  net::RoutingOptions routing;
  routing.routing = kind_named<Routing>(net::kRoutingNames, options.text("routing"));
  routing.seed = static_cast<std::uint64_t>(options.integer("seed"));
  routing.connections = static_cast<std::uint32_t>(options.integer("connections"));
  routing.threshold = options.number("threshold");
  return routing;
}

double ideal_iteration(const net::Fabric& fabric, const net::NetworkJob& job, double latency) {
  net::FabricRunOptions options;
  options.routing.routing = Routing::ideal;
  options.step_latency = latency;
  net::FabricRun run{fabric, options};
  net::NetworkJob alone = job;
  alone.starts_at = 0;
  alone.iterations = 1;
  run.add_job(std::move(alone));
  return run.run().jobs[0].end;
}

report::NetworkResult simulate_network(const OptionValues& options, const net::Fabric& fabric,
                                       const std::vector<net::NetworkJob>& jobs,
                                       const std::vector<net::LinkIndex>& failed) {
  net::FabricRunOptions run_options;
  run_options.routing = asked_routing(options);
  run_options.step_latency = options.number("step-latency") * 1e-6;
  run_options.samples = options.has("report") ? kRateSamples : 0;
  net::FabricRun run{fabric, run_options};
  for (const net::LinkIndex link : failed) run.fail_link(link, options.number("fail-at"));
  for (const net::NetworkJob& job : jobs) run.add_job(job);
  report::NetworkResult result;
  result.fabric = &fabric;
  result.routing = options.text("routing");
  result.outcome = run.run();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const net::NetworkJob& job = jobs[i];
    const net::JobOutcome& outcome = result.outcome.jobs[i];
    const net::JobCollective& collective = job.collectives[0];
    const auto iterations = static_cast<double>(outcome.iterations);
    const auto ranks = static_cast<std::uint32_t>(job.gpus.size());
    report::NetworkJobResult row;
    row.name = job.name;
    row.gpus = ranks;
    row.collective = kNetworkCollectiveNames[static_cast<std::size_t>(collective.kind)];
    row.mode = kModeNames[static_cast<std::size_t>(collective.mode)];
    row.bytes = collective.bytes;
    row.start_seconds = outcome.start;
    row.end_seconds = outcome.end;
    row.iterations = outcome.iterations;
    row.iteration_seconds = (outcome.end - outcome.start) / iterations;
    row.ideal_seconds = ideal_iteration(fabric, job, run_options.step_latency);
    row.communication_seconds = outcome.communication_seconds / iterations;
    if (row.communication_seconds > 0) {
      row.bus_bytes_per_second =
          collective.bytes / row.communication_seconds * net::bus_factor(collective.kind, ranks);
    }
    result.jobs.push_back(std::move(row));
  }
  return result;
}

}  // namespace

CommandSpec network_simulate_spec() {
  return {
      .name = "network simulate",
      .summary = "Tell how long collectives take on a shared fabric.",
      .about =
          "Plays a collective, or several jobs that compute and communicate, as fluid flows with "
          "max-min fair rates on a fabric of leaves and spines, and tells what contention costs: "
          "time and bus bandwidth beside what the GPUs' own ports would allow, and the fullest "
          "links. docs/models/network.md has the model and its limits.",
      .options =
          {{.name = "fabric",
            .type = OptionType::text,
            .help =
                "A fabric file (YAML), or leaf-spine:16x16x16 (leaves, GPUs per leaf, spines) or "
                "fat-tree:8 (ports), with links of 100 Gb/s.",
            .required = true},
           {.name = "collective",
            .type = OptionType::text,
            .default_text = "ring",
            .choices = network_names(kNetworkCollectiveNames),
            .help = "What the ranks do together. ring, halving-doubling, tree and hierarchical are "
                    "all-reduces."},
           {.name = "ranks",
            .type = OptionType::integer,
            .least = 2,
            .most = 1'000'000,
            .help = "How many GPUs take part; all unless given."},
           {.name = "bytes",
            .type = OptionType::text,
            .default_text = "256M",
            .help = "The buffer of a rank, such as 256MB, 256MiB or 256M (of 1024 x 1024)."},
           {.name = "mode",
            .type = OptionType::text,
            .default_text = "stepwise",
            .choices = network_names(kModeNames),
            .help = "stepwise: each step waits for the slowest flow of the one before. steady: all "
                    "steps at once, in step with the slowest pair."},
           {.name = "jobs",
            .type = OptionType::file,
            .help = "Instead of one collective: jobs that compute and communicate (YAML)."},
           {.name = "placement",
            .type = OptionType::text,
            .default_text = "compact",
            .choices = {"compact", "scattered"},
            .help = "compact: ranks on GPUs in a row. scattered: anywhere, by the seed."},
           {.name = "routing",
            .type = OptionType::text,
            .default_text = "ecmp",
            .choices = network_names(net::kRoutingNames),
            .help = "Which way flows take between leaves. ideal: nothing but the GPUs' own ports "
                    "counts."},
           {.name = "connections",
            .type = OptionType::integer,
            .default_text = "1",
            .least = 1,
            .most = 1024,
            .help = "With ecmp: connections between two GPUs, each with a path of its own."},
           {.name = "threshold",
            .type = OptionType::number,
            .default_text = "1",
            .least = 0,
            .most = 1,
            .help = "With two-hop: the share of direct links that traffic between two leaves may "
                    "fill before the rest goes over a third."},
           {.name = "fail",
            .type = OptionType::text_list,
            .help =
                "Links that fail, in both directions, by their names: \"leaf 0 > spine 3\", "
                "\"gpu 5 > leaf 0\". What crosses them takes another way; it is a mistake when a "
                "job has none."},
           {.name = "fail-at",
            .type = OptionType::number,
            .unit = "s",
            .default_text = "0",
            .least = 0,
            .most = 1e9,
            .help = "When they fail."},
           {.name = "step-latency",
            .type = OptionType::number,
            .unit = "microseconds",
            .default_text = "0",
            .least = 0,
            .most = 1e6,
            .help = "What each step of a collective takes beside moving its bytes."},
           {.name = "seed",
            .type = OptionType::integer,
            .default_text = "1",
            .least = 0,
            .help = "Of hashes and of scattered placement."},
           {.name = "report",
            .type = OptionType::file,
            .help =
                "Write a page with a map of the links and rates over time to this HTML file. It "
                "opens without a network.",
            .in_recipe = false},
           {.name = "json",
            .type = OptionType::flag,
            .help = "Print JSON for programs instead of text for people.",
            .in_recipe = false}},
      .examples = {
          {"weir network simulate --fabric leaf-spine:16x16x16 --collective all-to-all --bytes 64M",
           "What do hash collisions cost an all-to-all?"},
          {"weir network simulate --fabric leaf-spine:16x16x16 --collective ring --ranks 64 "
           "--placement scattered --routing spray",
           "And with packets on all paths?"},
          {"weir network simulate --fabric leaf-spine:4x4x4 --routing spray --fail "
           "'leaf 0 > spine 3,leaf 0 > spine 2'",
           "What if two uplinks of a leaf are lost?"},
          {"weir network simulate --fabric examples/network/fabric.yaml --jobs "
           "examples/network/jobs.yaml --report network.html",
           "Several jobs, with a map of the links."}}};
}

Result<void> network_simulate_command(const OptionValues& options, Console& console) {
  Diagnostics mistakes = check_network_options(options);
  const auto spec = formats::read_fabric_or_word(options.text("fabric"), "--fabric");
  if (!spec) mistakes.append(spec.error().details);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  const auto fabric = net::build_fabric(*spec);
  if (!fabric) return tl::unexpected(fabric.error());
  const auto mix = mix_of(options, *fabric);
  if (!mix) return tl::unexpected(mix.error());
  const auto jobs = placed_jobs(options, *mix, *fabric);
  if (!jobs) return tl::unexpected(jobs.error());
  const auto failed = links_to_fail(options, *fabric);
  if (!failed) return tl::unexpected(failed.error());
  if (auto connected = check_still_connected(asked_routing(options), *fabric, *jobs, *failed);
      !connected)
    return connected;
  const report::NetworkResult result = simulate_network(options, *fabric, *jobs, *failed);
  if (options.has("report")) {
    report::ReportHeader header{options.recipe(), std::string{kVersion}, {}};
    header.facts = {{"fabric", fabric->name}, {"GPUs", std::to_string(fabric->gpus())}};
    const OutputFile file{options.text("report"), report::network_page(header, result)};
    if (auto written = write_files({&file, 1}); !written) return written;
    console.err << "wrote " << file.path.string() << "\n";
  }
  if (options.flag("json")) {
    auto json = report::network_json(result);
    if (!json) return tl::unexpected(std::move(json.error()));
    console.out << *json;
    return {};
  }
  console.out << report::to_text(report::network_jobs_table(result)) << "\n"
              << report::to_text(report::busiest_links_table(result, kLinksShown)) << "\n"
              << options.recipe() << "\n";
  return {};
}

}  // namespace weir::cli
