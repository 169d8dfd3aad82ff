// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_commands.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "cli/client_api.h"
#include "cli/output_files.h"
#include "cli/simulation_inputs.h"
#include "cli/trace_file_kind.h"
#include "formats/cluster_yaml.h"
#include "formats/file_title.h"
#include "formats/inputs.h"
#include "formats/openb.h"
#include "formats/workload_yaml.h"
#include "report/text_table.h"
#include "report/trace_description.h"
#include "simulate/synth.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct OpenFile {
  std::string name;
  formats::InputFile input;
};

struct OpenFiles {
  std::vector<OpenFile> nodes;
  std::vector<OpenFile> tasks;
};

// Opens all files and sorts them by kind. Mistakes are collected.
OpenFiles open_files(const std::vector<std::string>& names, Diagnostics& mistakes) {
  OpenFiles files;
  for (const std::string& name : names) {
    auto input = formats::InputFile::open(name);
    if (!input) {
      mistakes.append(input.error().details);
      continue;
    }
    const auto beginning = input->peek();
    if (!beginning) {
      mistakes.append(beginning.error().details);
      continue;
    }
    const bool has_tasks = trace_file_kind(*beginning) == TraceFileKind::tasks;
    (has_tasks ? files.tasks : files.nodes).push_back({name, std::move(*input)});
  }
  return files;
}

// What is to be shown, before it is known whether as text or as JSON.
struct Descriptions {
  std::vector<report::Table> tables;
  Json json = Json::array();

  void add(const auto& description) {
    for (report::Table& table : report::description_tables(description)) {
      tables.push_back(std::move(table));
    }
    json.push_back(report::description_json(description));
  }
};

void describe_nodes(std::vector<OpenFile> files, GpuModels& models, Descriptions& shown,
                    Diagnostics& mistakes) {
  for (OpenFile& file : files) {
    const auto cluster = formats::read_cluster(std::move(file.input));
    if (!cluster) {
      mistakes.append(cluster.error().details);
      continue;
    }
    for (const std::string& model : cluster->models.names()) models.intern(model);
    shown.add(report::describe(file.name, *cluster));
  }
}

// A model that no node list has is a mistake: tasks are read against the models seen.
void describe_tasks(std::vector<OpenFile> files, const GpuModels& models, Descriptions& shown,
                    Diagnostics& mistakes) {
  Cluster models_only;
  models_only.models = models;
  for (OpenFile& file : files) {
    const auto workload = formats::read_workload(std::move(file.input), models_only);
    if (!workload) {
      mistakes.append(workload.error().details);
      continue;
    }
    shown.add(report::describe(file.name, *workload, models));
  }
}

// The files of a conversion, made in memory: nothing is written unless everything can be.
Result<std::vector<OutputFile>> converted(const SimulationInputs& inputs, const std::string& format,
                                          const fs::path& folder) {
  const bool to_openb = format == "openb";
  std::vector<OutputFile> files;
  std::ostringstream nodes;
  if (to_openb) {
    formats::write_openb_nodes(nodes, inputs.cluster);
  } else {
    formats::write_cluster_yaml(nodes, inputs.cluster);
  }
  files.push_back({folder / (to_openb ? "nodes.csv" : "cluster.yaml"), nodes.str()});
  Diagnostics mistakes;
  std::set<fs::path> taken = {files.front().path};
  for (std::size_t i = 0; i < inputs.workloads.size(); ++i) {
    std::ostringstream tasks;
    if (to_openb) {
      const auto written = formats::write_openb_tasks(tasks, inputs.workloads[i], inputs.cluster);
      if (!written) mistakes.append(written.error().details);
    } else {
      formats::write_workload_yaml(tasks, inputs.workloads[i], inputs.cluster);
    }
    const std::string title = formats::file_title(inputs.tasks_files[i]);
    const fs::path path =
        folder / fmt::format("{}.{}", inputs.workloads.size() == 1 ? "tasks" : "tasks_" + title,
                             to_openb ? "csv" : "yaml");
    if (!taken.insert(path).second) {
      mistakes.add({{}, 0, "--tasks", inputs.tasks_files[i], "lists with different file names"});
    }
    files.push_back({path, tasks.str()});
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return files;
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return bad_input(Diagnostic{{},
                              0,
                              "--out",
                              folder.string(),
                              fmt::format("a folder that can be made ({})", error.message())});
}

// Writes the trace into the folder --out and tells the names of the files.
Result<void> write_trace(const SimulationInputs& inputs, const OptionValues& options,
                         Console& console) {
  const fs::path folder = options.text("out");
  const auto files = converted(inputs, options.text("to"), folder);
  if (!files) return tl::unexpected(files.error());
  if (auto made = make_folder(folder); !made) return made;
  Diagnostics mistakes;
  for (const OutputFile& file : *files) {
    check_output("--out", file.path, input_paths(options), mistakes);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (auto written = write_files(*files); !written) return written;
  if (options.flag("json")) {
    Json paths = Json::array();
    for (const OutputFile& file : *files) paths.push_back(file.path.string());
    return print_json({{"files", paths}}, console);
  }
  for (const OutputFile& file : *files) console.out << file.path.string() << "\n";
  return {};
}

}  // namespace

Result<void> trace_describe_command(const OptionValues& options, Console& console) {
  Diagnostics mistakes;
  OpenFiles files = open_files(options.texts("file"), mistakes);
  GpuModels models;
  Descriptions shown;
  describe_nodes(std::move(files.nodes), models, shown, mistakes);
  describe_tasks(std::move(files.tasks), models, shown, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (options.flag("json")) return print_json({{"files", shown.json}}, console);
  const char* separator = "";
  for (const report::Table& table : shown.tables) {
    console.out << std::exchange(separator, "\n") << report::to_text(table);
  }
  return {};
}

Result<void> trace_convert_command(const OptionValues& options, Console& console) {
  const auto inputs = read_inputs(options);
  if (!inputs) return tl::unexpected(inputs.error());
  return write_trace(*inputs, options, console);
}

Result<void> trace_synth_command(const OptionValues& options, Console& console) {
  simulate::SynthConfig config;
  config.seed = static_cast<std::uint64_t>(options.integer("seed"));
  config.nodes = static_cast<std::int32_t>(options.integer("node-count"));
  config.jobs = static_cast<std::int32_t>(options.integer("job-count"));
  config.constrained_percent = static_cast<int>(options.integer("constrained-percent"));
  config.gang_percent = static_cast<int>(options.integer("gang-percent"));
  if (config.gang_percent > 0 && options.text("to") == "openb") {
    return bad_input(Diagnostic{{}, 0, "--to", "openb", "yaml: openb lists cannot hold gangs"});
  }
  SimulationInputs inputs{simulate::synth_cluster(config), {}, {"synthetic"}};
  inputs.workloads.push_back(simulate::synth_workload(config, inputs.cluster));
  return write_trace(inputs, options, console);
}

}  // namespace weir::cli
