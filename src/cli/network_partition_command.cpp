// SPDX-License-Identifier: Apache-2.0
#include "cli/network_partition_command.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "formats/csv.h"
#include "formats/json_text.h"
#include "network/partition/logical_clos.h"
#include "network/partition/optical_clos.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

using Json = nlohmann::ordered_json;

// What a job got, for both kinds of fabric.
struct PartitionedJob {
  std::int64_t hosts = 0;
  std::vector<std::string> leaves;  // "3: 16"
  std::string links;                // "spines 0-15", "12 circuits to spine 4"
  std::string refused;
  Json json;
};

// "0-3 7 9-10"
std::string ranges(const std::vector<int>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] <= sorted[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : " ", sorted[i]);
    if (sorted[last] > sorted[i]) text += fmt::format("-{}", sorted[last]);
    i = last + 1;
  }
  return text;
}

network::OpticalShape optical_shape(const OptionValues& options) {
  return {static_cast<int>(options.integer("leaves")), static_cast<int>(options.integer("hosts")),
          static_cast<int>(options.integer("spines")),
          static_cast<int>(options.integer("spine-ports")),
          static_cast<int>(options.integer("node-hosts"))};
}

network::ClosShape clos_shape(const OptionValues& options) {
  return {static_cast<int>(options.integer("leaves")), static_cast<int>(options.integer("hosts")),
          static_cast<int>(options.integer("spines")), static_cast<int>(options.integer("links")),
          static_cast<int>(options.integer("node-hosts"))};
}

// A request with the place to name when it is wrong.
struct PartitionRequest {
  std::int64_t hosts = 0;
  std::string file;
  std::uint64_t line = 0;
};

Result<std::vector<PartitionRequest>> read_requests(const OptionValues& options) {
  std::vector<PartitionRequest> requests;
  if (options.has("jobs")) {
    for (const std::int64_t hosts : options.integers("jobs")) requests.push_back({hosts, {}, 0});
    return requests;
  }
  auto input = formats::InputFile::open(options.text("requests"));
  if (!input) return tl::unexpected(input.error());
  static constexpr std::array<formats::CsvColumn, 1> kColumns{{{"gpus", true, {}}}};
  formats::CsvTable table{std::move(*input), kColumns};
  while (table.next()) {
    if (const auto hosts = table.integer(0, 1, 1'000'000))
      requests.push_back({*hosts, options.text("requests"), table.line()});
  }
  if (!table.mistakes().empty()) return table.failure();
  return requests;
}

Diagnostics check_requests(const std::vector<PartitionRequest>& requests, std::int64_t fabric) {
  Diagnostics mistakes;
  for (const PartitionRequest& request : requests) {
    if (request.hosts <= fabric) continue;
    mistakes.add({request.file, request.line, request.line == 0 ? "--jobs" : "gpus",
                  std::to_string(request.hosts),
                  fmt::format("at most the {} hosts of the fabric", fabric)});
  }
  return mistakes;
}

// Blocks the links, or occupies the circuits, of a file.
Result<void> read_in_use(const OptionValues& options, network::LogicalClos& clos,
                         network::OpticalClos& optical) {
  if (!options.has("in-use")) return {};
  auto input = formats::InputFile::open(options.text("in-use"));
  if (!input) return tl::unexpected(input.error());
  const bool is_optical = options.flag("optical");
  const std::array<formats::CsvColumn, 3> columns{
      {{"leaf", true, {}}, {"spine", true, {}}, {"switch", is_optical, {}}}};
  formats::CsvTable table{std::move(*input), columns};
  while (table.next()) {
    const auto leaf = table.integer(0, 0, options.integer("leaves") - 1);
    const auto spine = table.integer(1, 0, options.integer("spines") - 1);
    if (is_optical) {
      const auto optical_switch = table.integer(2, 0, options.integer("hosts") - 1);
      if (leaf && spine && optical_switch &&
          !optical.occupy(static_cast<int>(*optical_switch), static_cast<int>(*leaf),
                          static_cast<int>(*spine)))
        table.reject(2, "a switch where both have a free port: this circuit would use one twice");
      continue;
    }
    if (!leaf || !spine) continue;
    const auto first = static_cast<int>(*spine * options.integer("links"));
    const auto end = static_cast<int>((*spine + 1) * options.integer("links"));
    int link = first;
    while (link < end && !clos.is_link_free(static_cast<int>(*leaf), link)) ++link;
    if (link == end) {
      table.reject(1, "a spine with a free link to this leaf: this would use one twice");
    } else {
      clos.block_link(static_cast<int>(*leaf), link);
    }
  }
  if (!table.mistakes().empty()) return table.failure();
  return {};
}

PartitionedJob partition_fixed(network::LogicalClos& clos, std::int64_t hosts) {
  PartitionedJob job{.hosts = hosts};
  const auto found = clos.find(static_cast<int>(hosts));
  if (!found) {
    job.refused = network::text_of(found.error());
    return job;
  }
  clos.take(*found);
  Json leaves = Json::array();
  for (const network::LeafShare& share : found->leaves) {
    job.leaves.push_back(fmt::format(
        "{}: {}", share.leaf, static_cast<int>(share.nodes.size()) * clos.shape().hosts_per_node));
    leaves.push_back({{"leaf", share.leaf},
                      {"nodes", share.nodes},
                      {"paired_nodes", share.paired},
                      {"uplinks", share.uplinks}});
  }
  if (!found->spines.empty())
    job.links =
        fmt::format("{} {}", found->spines.size() == 1 ? "spine" : "spines", ranges(found->spines));
  job.json = {{"leaves", leaves}, {"spines", found->spines}};
  return job;
}

PartitionedJob partition_optical(network::OpticalClos& clos, JobId id, std::int64_t hosts,
                                 bool may_move_others) {
  PartitionedJob job{.hosts = hosts};
  const auto started = clos.start(id, static_cast<int>(hosts), may_move_others);
  if (!started) {
    job.refused = network::text_of(started.error());
    return job;
  }
  Json leaves = Json::array();
  for (const network::OpticalShare& share : started->partition.leaves) {
    job.leaves.push_back(fmt::format(
        "{}: {}", share.leaf, static_cast<int>(share.nodes.size()) * clos.shape().hosts_per_node));
    leaves.push_back({{"leaf", share.leaf}, {"nodes", share.nodes}, {"links", share.links}});
  }
  if (started->circuits_made > 0) {
    job.links = fmt::format("{} circuits, {}", started->circuits_made,
                            network::text_of(started->partition.kind));
    if (!started->partition.spines.empty())
      job.links += fmt::format(": {}", ranges(started->partition.spines));
    if (started->circuits_moved > 0)
      job.links += fmt::format("; {} moved of {} others", started->circuits_moved,
                               started->jobs_paused.size());
  }
  job.json = {{"kind", network::text_of(started->partition.kind)},
              {"leaves", leaves},
              {"spines", started->partition.spines},
              {"circuits_made", started->circuits_made},
              {"circuits_moved", started->circuits_moved},
              {"jobs_paused", started->jobs_paused.size()}};
  return job;
}

Diagnostics check_partition_options(const OptionValues& options) {
  Diagnostics mistakes;
  if (options.has("jobs") == options.has("requests"))
    mistakes.add({{},
                  0,
                  "--jobs",
                  {},
                  options.has("jobs") ? "to be left out beside --requests: one or the other"
                                      : "sizes of jobs, or --requests with a file of them"});
  const bool is_optical = options.flag("optical");
  const auto only_with = [&](const char* name, bool holds, const char* expected) {
    if (options.is_given(name) && !holds)
      mistakes.add({{}, 0, fmt::format("--{}", name), {}, expected});
  };
  only_with("links", !is_optical, "to be left out beside --optical: circuits are single links");
  only_with("spine-ports", is_optical, "--optical beside it");
  only_with("keep-circuits", is_optical, "--optical beside it");
  mistakes.append(is_optical ? check(optical_shape(options)) : check(clos_shape(options)));
  return mistakes;
}

std::string partition_text(const std::vector<PartitionedJob>& jobs, std::int64_t free,
                           const std::string& last_line, const OptionValues& options) {
  report::Table table{"",
                      {{"job"},
                       {"hosts"},
                       {"leaves: hosts", report::Align::left},
                       {"links of its own", report::Align::left}},
                      {}};
  std::size_t refused = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PartitionedJob& job = jobs[i];
    std::string leaves = fmt::format("{}", fmt::join(job.leaves, ", "));
    if (!job.refused.empty()) leaves = "-";
    table.rows.push_back({std::to_string(i + 1), std::to_string(job.hosts), std::move(leaves),
                          job.refused.empty() ? (job.links.empty() ? "none needed" : job.links)
                                              : "refused: " + job.refused});
    refused += job.refused.empty() ? 0 : 1;
  }
  return report::to_text(table) +
         fmt::format("\n{} of {} jobs have a partition; {} hosts are free. {}\n\n{}\n",
                     jobs.size() - refused, jobs.size(), free, last_line, options.recipe());
}

}  // namespace

CommandSpec network_partition_spec() {
  return {
      .name = "network partition",
      .summary = "Give jobs parts of a leaf-spine fabric that nobody shares.",
      .about =
          "Shows which leaves, hosts and spines each of some jobs would get, one after the other, "
          "so "
          "that no two jobs use a link together; and who is refused, and why. With --optical, "
          "leaves "
          "and spines meet in optical circuit switches and links are made for each job. "
          "docs/models/network.md says why collectives meet no other flow there.",
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
                   .help = "Hosts under each leaf: GPUs with a NIC of their own."},
                  {.name = "spines",
                   .type = OptionType::integer,
                   .default_text = "16",
                   .least = 1,
                   .most = 256,
                   .help = "Spine switches."},
                  {.name = "links",
                   .type = OptionType::integer,
                   .default_text = "1",
                   .least = 1,
                   .most = 256,
                   .help = "Parallel links between each leaf and each spine."},
                  {.name = "node-hosts",
                   .type = OptionType::integer,
                   .default_text = "1",
                   .least = 1,
                   .most = 256,
                   .help = "Hosts of a node; jobs take whole nodes."},
                  {.name = "optical",
                   .type = OptionType::flag,
                   .help =
                       "Leaves and spines meet in optical circuit switches, one for each host of a "
                       "leaf."},
                  {.name = "spine-ports",
                   .type = OptionType::integer,
                   .default_text = "2",
                   .least = 1,
                   .most = 16,
                   .help = "Ports of a spine at each optical switch."},
                  {.name = "keep-circuits",
                   .type = OptionType::flag,
                   .help = "Never move circuits of jobs that run."},
                  {.name = "jobs",
                   .type = OptionType::integer_list,
                   .least = 1,
                   .help = "Hosts that jobs ask for, in order."},
                  {.name = "requests",
                   .type = OptionType::file,
                   .help = "The same as a CSV file with a column gpus."},
                  {.name = "in-use",
                   .type = OptionType::file,
                   .help =
                       "Links nobody may use, as CSV: leaf, spine; with --optical circuits in use: "
                       "switch, leaf, spine. All count from 0."},
                  {.name = "json",
                   .type = OptionType::flag,
                   .help = "Print JSON for programs instead of text for people.",
                   .in_recipe = false}},
      .examples = {
          {"weir network partition --jobs 8,64,12", "Three jobs on 16 leaves with 16 hosts each."},
          {"weir network partition --leaves 8 --hosts 8 --spines 4 --optical --jobs 12,24",
           "The same where links are made for each job."}}};
}

Result<void> network_partition_command(const OptionValues& options, Console& console) {
  if (auto mistakes = check_partition_options(options); !mistakes.empty())
    return bad_input(std::move(mistakes));
  const auto requests = read_requests(options);
  if (!requests) return tl::unexpected(requests.error());
  const std::int64_t fabric = options.integer("leaves") * options.integer("hosts");
  Diagnostics mistakes = check_requests(*requests, fabric);
  const bool is_optical = options.flag("optical");
  network::OpticalClos optical{is_optical ? optical_shape(options)
                                          : network::OpticalShape{1, 1, 1, 1, 1}};
  network::LogicalClos clos{is_optical ? network::ClosShape{1, 1, 1, 1, 1} : clos_shape(options)};
  const auto in_use = read_in_use(options, clos, optical);
  if (!in_use) mistakes.append(in_use.error().details);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  std::vector<PartitionedJob> jobs;
  for (const PartitionRequest& request : *requests) {
    const JobId id{jobs.size() + 1};
    jobs.push_back(
        is_optical ? partition_optical(optical, id, request.hosts, !options.flag("keep-circuits"))
                   : partition_fixed(clos, request.hosts));
  }
  const std::int64_t free = is_optical ? optical.free_hosts() : clos.free_hosts();
  if (options.flag("json")) {
    Json rows = Json::array();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Json row{{"job", i + 1}, {"hosts", jobs[i].hosts}};
      if (jobs[i].refused.empty()) {
        row.update(jobs[i].json);
      } else {
        row["refused"] = jobs[i].refused;
      }
      rows.push_back(std::move(row));
    }
    Json document{{"jobs", rows}, {"free_hosts", free}};
    if (!is_optical) document["largest_job"] = network::largest_job(clos);
    auto text = formats::json_text(document);
    if (!text) return tl::unexpected(text.error());
    console.out << *text;
    return {};
  }
  const std::string last_line =
      is_optical ? fmt::format("{} circuits are in use.", optical.wiring().circuits().size())
                 : fmt::format("The largest power of two that would still get one: {}.",
                               network::largest_job(clos));
  console.out << partition_text(jobs, free, last_line, options);
  return {};
}

}  // namespace weir::cli
