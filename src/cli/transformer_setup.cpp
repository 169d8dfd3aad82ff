// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/gpu_file.h"
#include "cli/output_files.h"
#include "cli/planning_setup.h"
#include "cli/transformer_options.h"
#include "cli/transformer_times.h"
#include "report/plan_export.h"

namespace weir::cli {
namespace {

using plan::TransformerPins;
using predict::ParallelMode;
using predict::Recompute;

constexpr double kBytesOfMiB = 1024.0 * 1024;
constexpr int kLargestDegree = 1 << 20;

struct DegreePin {
  std::string_view name;
  std::optional<int> TransformerPins::*member;
};
constexpr std::array<DegreePin, 12> kDegreePins{{{"tp", &TransformerPins::tp},
                                                 {"sp", &TransformerPins::sp},
                                                 {"hp", &TransformerPins::hp},
                                                 {"cp", &TransformerPins::cp},
                                                 {"window", &TransformerPins::window},
                                                 {"dp", &TransformerPins::dp},
                                                 {"pp", &TransformerPins::pp},
                                                 {"interleave", &TransformerPins::interleave},
                                                 {"wp", &TransformerPins::wp},
                                                 {"zp", &TransformerPins::zp},
                                                 {"micro-batch", &TransformerPins::micro_batch},
                                                 {"accumulate", &TransformerPins::micro_count}}};

class PinReader {
 public:
  PinReader(const std::string& field, Diagnostics& mistakes) : field_{field}, mistakes_{mistakes} {}

  void read(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    for (const DegreePin& pin : kDegreePins) {
      if (pin.name != name) continue;
      return set(text, pins_.*pin.member, degree(text, name, value));
    }
    if (name == "mode") return set(text, pins_.mode, mode(text, value));
    if (name == "recompute") return set(text, pins_.recompute, recompute(text, value));
    if (name == "placement") return set(text, pins_.is_head_first, placement(text, value));
    if (name == "overlap") return set(text, pins_.overlaps, is_on(text, name, value));
    if (name == "pool") return set(text, pins_.has_memory_pool, is_on(text, name, value));
    reject(text,
           "mode=, tp=, sp=, hp=, cp=, window=, placement=, dp=, pp=, interleave=, wp=, zp=, "
           "recompute=, micro-batch=, accumulate=, overlap= or pool=");
  }

  const TransformerPins& pins() const { return pins_; }

 private:
  void reject(const std::string& text, std::string expected) {
    mistakes_.add({{}, 0, field_, text, std::move(expected)});
  }

  template <class T>
  void set(const std::string& text, std::optional<T>& pin, const std::optional<T>& value) {
    if (pin && value && *pin != *value) reject(text, "one value for it: it was pinned before");
    if (value) pin = value;
  }

  std::optional<int> degree(const std::string& text, const std::string& name,
                            const std::string& value) {
    int number = 0;
    const char* end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc{} && at == end && number >= 1 && number <= kLargestDegree) return number;
    reject(text, fmt::format("{}= a whole number, 1 or more", name));
    return std::nullopt;
  }

  std::optional<ParallelMode> mode(const std::string& text, const std::string& value) {
    for (const ParallelMode known :
         {ParallelMode::mtp, ParallelMode::msp, ParallelMode::fsp, ParallelMode::isp}) {
      if (to_string(known) == value) return known;
    }
    reject(text, "mode=mtp, msp, fsp or isp");
    return std::nullopt;
  }

  std::optional<Recompute> recompute(const std::string& text, const std::string& value) {
    for (const Recompute known :
         {Recompute::none, Recompute::selective, Recompute::full, Recompute::plus}) {
      if (to_string(known) == value) return known;
    }
    reject(text, "recompute=none, selective, full or selective++");
    return std::nullopt;
  }

  std::optional<bool> placement(const std::string& text, const std::string& value) {
    if (value == "head-first") return true;
    if (value == "context-first") return false;
    reject(text, "placement=head-first or context-first");
    return std::nullopt;
  }

  std::optional<bool> is_on(const std::string& text, const std::string& name,
                            const std::string& value) {
    if (value == "on") return true;
    if (value == "off") return false;
    reject(text, fmt::format("{}=on or off", name));
    return std::nullopt;
  }

  std::string field_;
  Diagnostics& mistakes_;
  TransformerPins pins_;
};

predict::RuntimeTraits runtime_of(const OptionValues& options) {
  const std::string& name = options.text("runtime");
  if (name == "internevo") return predict::internevo_2023();
  if (name == "megatron-2021") return predict::megatron_2021();
  if (name == "autocast") return predict::autocast_runtime();
  return predict::modern_runtime();
}

// "A100-40G or A100-80G" for "a100"; all of them for a name that is none.
std::string possible_gpus(const std::string& name, const predict::GpuCatalogue& catalogue) {
  std::vector<std::string_view> alike;
  for (const predict::GpuType& type : predict::gpu_types())
    if (predict::is_chip_of(name, type)) alike.push_back(type.name);
  return alike.empty() ? fmt::format("one of {}", catalogue.names())
                       : fmt::format("{}", fmt::join(alike, " or "));
}

// Nothing where it is the GPU's own, or wrong.
std::optional<double> given_memory(const OptionValues& options, Diagnostics& mistakes) {
  if (!options.is_given("memory")) return std::nullopt;
  const auto memory = memory_mib(options, "memory", mistakes);
  if (!memory || *memory > 0) return memory;
  mistakes.add({{}, 0, "--memory", options.text("memory"), "more than 0, such as 80GiB"});
  return std::nullopt;
}

void read_gpu(const OptionValues& options, TransformerSetup& setup, Diagnostics& mistakes) {
  const auto file = read_gpu_file(options);
  if (!file) mistakes.append(file.error().details);
  // Whatever the GPU is.
  const std::optional<double> given = given_memory(options, mistakes);
  const double margin = memory_mib(options, "margin", mistakes).value_or(0);
  if (!file) return;
  const bool is_the_files = options.has("gpu-file") && !options.is_given("gpu");
  const std::string name = is_the_files ? file->first : options.text("gpu");
  const predict::GpuType* gpu = file->catalogue.find(name);
  if (gpu == nullptr) {
    mistakes.add({{}, 0, "--gpu", name, possible_gpus(name, file->catalogue)});
    return;
  }
  setup.catalogue = file->catalogue;
  predict::TransformerTask& task = setup.request.task;
  task.gpu = *gpu;
  task.fabric = predict::usual_fabric(*gpu, setup.gpus_per_node);
  if (options.has("nics")) task.fabric.nics = static_cast<int>(options.integer("nics"));
  if (options.has("nic-rate"))
    task.fabric.nic_bytes_s *= options.number("nic-rate") / gpu->nic_gbit_s;
  setup.price_per_hour = options.has("price") ? options.number("price") : gpu->price_per_hour;
  const double memory = given.value_or(gpu->memory_gib * 1024);
  if (margin >= memory) {
    mistakes.add({{},
                  0,
                  "--margin",
                  options.text("margin"),
                  fmt::format("less than the GPU's memory, {:.0f}MiB", memory)});
  }
  if (memory > gpu->memory_gib * 1024)
    setup.notes.push_back(fmt::format("--memory {} is more than the {:.0f}GiB that {} has",
                                      options.text("memory"), gpu->memory_gib, gpu->name));
  setup.request.memory_bytes = (memory - margin) * kBytesOfMiB;
  setup.request.margin_bytes = margin * kBytesOfMiB;
  task.runtime = runtime_of(options);
  if (auto times = read_compute_times(options, *gpu, task.runtime)) {
    task.compute = std::move(*times);
  } else {
    mistakes.append(times.error().details);
  }
}

// Of a file that has the name of all such files, the kind of model.
std::string title_of(const std::string& file, const TransformerModel& model) {
  const std::string stem = std::filesystem::path{file}.stem().string();
  return stem.empty() || stem == "config" ? model.name : stem;
}

void read_model(const OptionValues& options, TransformerSetup& setup, Diagnostics& mistakes) {
  predict::TransformerTask& task = setup.request.task;
  if (options.has("model-config")) {
    const std::string& file = options.text("model-config");
    auto config = formats::read_transformer_config(file);
    if (!config) return mistakes.append(config.error().details);
    task.sequence = options.has("sequence") ? options.integer("sequence")
                                            : formats::usual_sequence(config->model);
    setup.title = title_of(file, config->model);
    setup.style = config->style;
    setup.window = config->window;
    for (std::string& note : sequence_notes(*config, task.sequence))
      setup.notes.push_back(std::move(note));
    task.model = std::move(config->model);
    return;
  }
  auto model = formats::parse_dimensions("--dims", options.text("dims"));
  if (!model) return mistakes.append(model.error().details);
  task.sequence =
      options.has("sequence") ? options.integer("sequence") : formats::usual_sequence(*model);
  setup.title = model->name;
  task.model = std::move(*model);
}

void note_experts(TransformerSetup& setup) {
  if (setup.request.task.model.experts > 1)
    setup.notes.push_back(
        "routing, the all-to-all of expert parallelism and imbalance between experts are not "
        "counted; none of the public runs compared was a mixture of experts");
}

// A network that the trainer cannot build, or a way of working that is not its own, whatever the plan.
void check_export(const OptionValues& options, const TransformerSetup& setup,
                  Diagnostics& mistakes) {
  const std::string& target = options.text("export");
  const report::ExportTarget known = report::export_target(target);
  std::vector<std::string> all_missing = report::beyond(known, setup.request.task.runtime);
  if (setup.style) {
    for (std::string& missing : report::beyond(known, *setup.style))
      all_missing.push_back(std::move(missing));
  }
  for (const std::string& missing : all_missing)
    mistakes.add({{}, 0, "--export", target, "another target: it has no word for " + missing});
}

}  // namespace

std::vector<std::string> sequence_notes(const formats::TransformerConfig& config,
                                        std::int64_t sequence) {
  std::vector<std::string> notes;
  const std::int64_t longest = config.model.positions;
  if (longest > 0 && sequence > longest)
    notes.push_back(fmt::format(
        "--sequence {} is beyond {}, the longest that the config says the model was made for",
        sequence, longest));
  if (config.window > 0 && config.window < sequence)
    notes.push_back(fmt::format(
        "the config has a window of {} tokens for attention (sliding_window); full attention over "
        "{} is assumed, which takes longer",
        config.window, sequence));
  return notes;
}

TransformerPins parse_pins(const std::vector<std::string>& texts, const std::string& field,
                           Diagnostics& mistakes) {
  PinReader reader{field, mistakes};
  for (const std::string& text : texts) reader.read(text);
  return reader.pins();
}

Result<TransformerSetup> read_transformer_setup(const OptionValues& options) {
  Diagnostics mistakes;
  check_kind_of_model(options, mistakes);
  TransformerSetup setup;
  setup.gpus_per_node = static_cast<int>(options.integer("gpus-per-node"));
  setup.request.gpus = static_cast<int>(options.integer("nodes")) * setup.gpus_per_node;
  read_gpu(options, setup, mistakes);
  predict::TransformerTask& task = setup.request.task;
  task.batch = options.integer("batch");
  if (options.has("pin")) setup.request.pins = parse_pins(options.texts("pin"), "--pin", mistakes);
  if (options.has("out")) {
    std::vector<std::filesystem::path> inputs;
    for (const char* input : {"model-config", "gpu-file", "kernel-model"})
      if (options.has(input)) inputs.emplace_back(options.text(input));
    check_output("--out", options.text("out"), inputs, mistakes);
  }
  read_model(options, setup, mistakes);
  note_experts(setup);
  if (mistakes.empty() && options.has("export")) check_export(options, setup, mistakes);
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (options.has("export")) {
    const report::ExportTarget target = report::export_target(options.text("export"));
    setup.request.can_run = [target, task](const predict::TransformerPlan& plan) {
      return report::beyond(target, task, plan).empty();
    };
  }
  return setup;
}

}  // namespace weir::cli
