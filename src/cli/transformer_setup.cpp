// SPDX-License-Identifier: Apache-2.0
#include "cli/transformer_setup.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "cli/output_files.h"
#include "cli/planning_setup.h"
#include "cli/transformer_options.h"
#include "formats/transformer_config.h"
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
    reject(text,
           "mode=, tp=, sp=, hp=, cp=, window=, placement=, dp=, pp=, interleave=, wp=, zp=, "
           "recompute=, micro-batch= or accumulate=");
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

  std::string field_;
  Diagnostics& mistakes_;
  TransformerPins pins_;
};

predict::RuntimeTraits runtime_of(const OptionValues& options) {
  const std::string& name = options.text("runtime");
  if (name == "internevo") return predict::internevo_2023();
  if (name == "megatron-2021") return predict::megatron_2021();
  return predict::modern_runtime();
}

void read_gpu(const OptionValues& options, TransformerSetup& setup, Diagnostics& mistakes) {
  const predict::GpuType* gpu = predict::find_gpu_type(options.text("gpu"));
  if (gpu == nullptr) {
    mistakes.add(
        {{}, 0, "--gpu", options.text("gpu"), fmt::format("one of {}", predict::gpu_type_names())});
    return;
  }
  predict::TransformerTask& task = setup.request.task;
  task.gpu = *gpu;
  task.fabric = predict::usual_fabric(*gpu, setup.gpus_per_node);
  if (options.has("nics")) task.fabric.nics = static_cast<int>(options.integer("nics"));
  if (options.has("nic-rate"))
    task.fabric.nic_bytes_s *= options.number("nic-rate") / gpu->nic_gbit_s;
  setup.price_per_hour = options.has("price") ? options.number("price") : gpu->price_per_hour;
  double memory = gpu->memory_gib * 1024;
  if (options.is_given("memory")) memory = memory_mib(options, "memory", mistakes).value_or(memory);
  const double margin = memory_mib(options, "margin", mistakes).value_or(0);
  if (margin >= memory) {
    mistakes.add({{},
                  0,
                  "--margin",
                  options.text("margin"),
                  fmt::format("less than the GPU's memory, {:.0f}MiB", memory)});
  }
  setup.request.memory_bytes = (memory - margin) * kBytesOfMiB;
}

Result<TransformerModel> read_dimensions(const OptionValues& options) {
  return options.has("model-config")
             ? formats::read_transformer_config(options.text("model-config"))
             : formats::parse_dimensions("--dims", options.text("dims"));
}

}  // namespace

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
  task.sequence = options.integer("sequence");
  task.batch = options.integer("batch");
  task.runtime = runtime_of(options);
  if (options.has("pin")) setup.request.pins = parse_pins(options.texts("pin"), "--pin", mistakes);
  if (options.has("out")) {
    std::vector<std::filesystem::path> inputs;
    if (options.has("model-config")) inputs.emplace_back(options.text("model-config"));
    check_output("--out", options.text("out"), inputs, mistakes);
  }
  auto model = read_dimensions(options);
  if (model) {
    task.model = std::move(*model);
  } else {
    mistakes.append(model.error().details);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (options.has("export")) {
    const report::ExportTarget target = report::export_target(options.text("export"));
    setup.request.can_run = [target,
                             dimensions = task.model](const predict::TransformerPlan& plan) {
      return report::beyond(target, dimensions, plan).empty();
    };
  }
  return setup;
}

}  // namespace weir::cli
