// SPDX-License-Identifier: Apache-2.0
#include "cli/observed_inputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <sstream>

#include "cli/output_files.h"
#include "cli/state_folder.h"
#include "cli/version.h"
#include "control/live_clock.h"
#include "formats/cluster_yaml.h"
#include "formats/workload_yaml.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

Diagnostic no_history(const fs::path& folder) {
  return {folder.string(), 0, "--state", "no observed cluster",
          "the state folder of `weir serve --engine kubernetes --mode observe`"};
}

}  // namespace

Result<control::ObservedHistory> read_history(const OptionValues& options) {
  const fs::path folder =
      options.has("state") ? fs::path{options.text("state")} : default_state_folder();
  control::StoreOptions store;
  store.file = store_file(folder);
  store.build = kVersion;
  if (!fs::exists(store.file)) return bad_input(no_history(folder));
  auto reader = control::StoreReader::open(store);
  if (!reader) return tl::unexpected<Error>(std::move(reader.error()));
  const auto nodes = (*reader)->setting(control::kObservedNodesSetting);
  if (!nodes) return tl::unexpected<Error>(nodes.error());
  if (!*nodes) return bad_input(no_history(folder));
  return control::read_observed_history(**reader, **nodes, control::machine_clocks().wall());
}

std::string history_text(const control::ObservedHistory& history) {
  std::string out = fmt::format("{} tasks on {} nodes: {} ended", history.workload.jobs.size(),
                                history.nodes.size(), history.ended);
  if (history.running > 0)
    out += fmt::format(", {} still run (counted with the time they have run)", history.running);
  if (history.waiting > 0)
    out +=
        fmt::format(", {} wait (counted with the median time of tasks as large)", history.waiting);
  return out + fmt::format("; they really waited {:.0f} s on average, p99 {:.0f} s",
                           history.wait_mean_s, history.wait_p99_s);
}

Result<SimulationInputs> observed_inputs(const OptionValues& options, Console& console) {
  auto history = read_history(options);
  if (!history) return tl::unexpected<Error>(std::move(history.error()));
  const std::vector<std::string> lost =
      options.has("lose") ? options.texts("lose") : std::vector<std::string>{};
  auto cluster = control::cluster_of(history->nodes, lost,
                                     options.has("add-nodes") ? options.integer("add-nodes") : 0);
  if (!cluster) return tl::unexpected<Error>(std::move(cluster.error()));
  console.err << "observed: " << history_text(*history) << "\n";
  SimulationInputs inputs{std::move(*cluster), {}, {"observed"}};
  inputs.workloads.push_back(std::move(history->workload));
  return inputs;
}

CommandSpec trace_observed_spec() {
  return {.name = "trace observed",
          .summary = "Keep what an observing server has seen as a trace.",
          .about =
              "Writes the cluster and the tasks that `weir serve --engine kubernetes` has "
              "observed as two files, nodes.yaml and tasks.yaml, that `weir simulate "
              "--protocol replay` plays and people can edit or share.",
          .options = {{.name = "state",
                       .type = OptionType::file,
                       .help = "The server's state folder. Default: $WEIR_STATE, or "
                               "~/.local/state/weir."},
                      {.name = "out",
                       .type = OptionType::file,
                       .default_text = ".",
                       .help = "The folder to write to."}},
          .examples = {{"weir trace observed --state /srv/weir --out last-week",
                        "Then: weir simulate --nodes last-week/nodes.yaml --tasks "
                        "last-week/tasks.yaml --protocol replay"}}};
}

Result<void> trace_observed_command(const OptionValues& options, Console& console) {
  auto history = read_history(options);
  if (!history) return tl::unexpected<Error>(std::move(history.error()));
  auto cluster = control::cluster_of(history->nodes, {}, 0);
  if (!cluster) return tl::unexpected<Error>(std::move(cluster.error()));
  std::ostringstream nodes;
  formats::write_cluster_yaml(nodes, *cluster);
  std::ostringstream tasks;
  formats::write_workload_yaml(tasks, history->workload, *cluster);
  const fs::path folder = options.text("out");
  std::error_code failed;
  fs::create_directories(folder, failed);
  const std::vector<OutputFile> files = {{folder / "nodes.yaml", nodes.str()},
                                         {folder / "tasks.yaml", tasks.str()}};
  if (auto written = write_files(files); !written) return written;
  console.err << "observed: " << history_text(*history) << "\n";
  for (const OutputFile& file : files) console.err << "wrote " << file.path.string() << "\n";
  return {};
}

}  // namespace weir::cli
