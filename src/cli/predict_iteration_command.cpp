// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_iteration_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "cli/embedded_kernel_models.h"
#include "cli/predicted_network.h"
#include "formats/json_text.h"
#include "formats/kernel_model_json.h"
#include "predict/kernels/device_specs.h"
#include "predict/kernels/iteration_prediction.h"
#include "predict/kernels/scaled_model.h"
#include "report/transformer_tables.h"

namespace weir::cli {
namespace {

constexpr double kStateBytes = 16;   // of a parameter: float32 weight, gradient, two moments
constexpr double kNoteStateGb = 10;  // less fits anywhere
constexpr double kNoteShare = 0.05;  // of the time, not as measured: worth a note

struct IterationRequest {
  PredictedNetwork network;
  double probe = 0;
  std::size_t top = 0;
};

std::string_view phase_name(std::size_t index) {
  return kTrainingPhaseNames[index];
}

// Operators without times of their own, by name, the longest first.
struct StandIn {
  std::string op;
  std::string call;  // what stands in, at its longest
  std::int64_t count = 0;
  double seconds = 0;
};

std::vector<StandIn> stand_ins(const predict::IterationPrediction& iteration) {
  std::vector<StandIn> found;
  for (const predict::PredictedOp& op : iteration.ops) {
    if (op.op.stands_for.empty()) continue;
    auto at = std::find_if(found.begin(), found.end(),
                           [&](const StandIn& one) { return one.op == op.op.stands_for; });
    if (at == found.end())
      at = found.insert(found.end(), {op.op.stands_for, to_string(op.op.call), 0, 0});
    at->count += op.op.count;
    at->seconds += op.seconds;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const StandIn& a, const StandIn& b) { return a.seconds > b.seconds; });
  return found;
}

double seconds_of(const std::vector<StandIn>& all) {
  double seconds = 0;
  for (const StandIn& one : all) seconds += one.seconds;
  return seconds;
}

Result<KernelModel> kernel_model_of(const OptionValues& options) {
  if (!options.has("kernel-model")) return embedded_kernel_model("h200");
  auto input =
      formats::InputFile::open(options.text("kernel-model"), formats::kMaxKernelModelBytes);
  if (!input) return tl::unexpected(input.error());
  return formats::read_kernel_model(std::move(*input));
}

// To a GPU that was not measured: every operator by its own factor.
void scale_to(const DeviceSpec& from, const DeviceSpec& to,
              predict::IterationPrediction& iteration) {
  iteration.gpu_seconds = 0;
  iteration.phase_seconds = {};
  iteration.class_seconds = {};
  iteration.extrapolated_seconds = 0;
  for (predict::PredictedOp& op : iteration.ops) {
    const auto count = static_cast<double>(op.op.count);
    op.seconds = count * predict::scaled_seconds(op.op.call, op.seconds / count, op.kernels,
                                                 op.blocks, from, to);
    iteration.gpu_seconds += op.seconds;
    iteration.phase_seconds[static_cast<std::size_t>(op.op.phase)] += op.seconds;
    iteration.class_seconds[static_cast<std::size_t>(op.kind)] += op.seconds;
    if (op.is_extrapolated) iteration.extrapolated_seconds += op.seconds;
  }
  iteration.seconds = std::max(iteration.gpu_seconds, iteration.cpu_seconds);
  std::stable_sort(iteration.ops.begin(), iteration.ops.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
}

std::string stand_ins_text(const predict::IterationPrediction& iteration) {
  const std::vector<StandIn> all = stand_ins(iteration);
  if (all.empty()) return {};
  std::string text =
      fmt::format("without times of their own, taken for others: {:.3f} ms, {:.1f} %\n",
                  seconds_of(all) * 1e3, 100 * seconds_of(all) / iteration.gpu_seconds);
  for (const StandIn& one : all)
    text += fmt::format("  {:9.3f} ms {:4} x {}, as {}\n", one.seconds * 1e3, one.count, one.op,
                        one.call);
  return text;
}

std::string network_line(const PredictedNetwork& network) {
  if (network.ops.parameters == 0) return {};
  std::string text = "  " + report::parameter_words(static_cast<double>(network.ops.parameters));
  if (network.sequence > 0) text += fmt::format(", sequences of {} tokens", network.sequence);
  return text + "\n";
}

std::string iteration_text(const IterationRequest& request, const std::string& device,
                           bool is_scaled, const predict::IterationPrediction& iteration) {
  std::string text = fmt::format(
      "{} at batch {} on {}{}: {:.2f} ms an iteration, {:.1f} samples/s\n", request.network.name,
      request.network.batch, device, is_scaled ? " (scaled, not measured)" : "",
      iteration.seconds * 1e3, static_cast<double>(request.network.batch) / iteration.seconds);
  text += network_line(request.network);
  text += fmt::format(
      "  {}: GPU {:.2f} ms in {:.0f} kernels, CPU {:.2f} ms for {:.0f} operators\n",
      iteration.is_launch_bound() ? "the CPU's launches set the pace" : "the GPU sets the pace",
      iteration.gpu_seconds * 1e3, iteration.kernels, iteration.cpu_seconds * 1e3, iteration.calls);
  for (std::size_t i = 0; i < iteration.phase_seconds.size(); ++i)
    text += fmt::format("  {:16} {:9.3f} ms {:5.1f} %\n", phase_name(i),
                        iteration.phase_seconds[i] * 1e3,
                        100 * iteration.phase_seconds[i] / iteration.gpu_seconds);
  text += "by what kernels wait for\n";
  for (std::size_t i = 0; i < iteration.class_seconds.size(); ++i)
    text += fmt::format("  {:16} {:9.3f} ms {:5.1f} %\n", predict::kKernelClassNames[i],
                        iteration.class_seconds[i] * 1e3,
                        100 * iteration.class_seconds[i] / iteration.gpu_seconds);
  text += "longest\n";
  for (std::size_t i = 0; i < std::min(request.top, iteration.ops.size()); ++i) {
    const predict::PredictedOp& op = iteration.ops[i];
    text += fmt::format("  {:9.3f} ms {:4} x {:9} {}{}\n", op.seconds * 1e3, op.op.count,
                        to_string(op.op.phase), to_string(op.op.call),
                        op.is_extrapolated ? " (beyond what was measured)" : "");
  }
  return text + stand_ins_text(iteration);
}

// What somebody should know before believing it.
std::vector<std::string> iteration_notes(const IterationRequest& request, const KernelModel& model,
                                         const DeviceSpec& device,
                                         const predict::IterationPrediction& iteration) {
  std::vector<std::string> notes = request.network.notes;
  if (model.host.probe_microseconds == 0)
    notes.push_back(fmt::format(
        "the model has seen no whole iterations, so the CPU's launches are not counted{}; small "
        "batches take longer",
        request.probe > 0 ? ", whatever --step-probe says" : ""));
  if (model.host.probe_microseconds > 0 && request.probe == 0 && iteration.is_launch_bound())
    notes.push_back(fmt::format(
        "the CPU sets the pace, and is taken to be as fast as where the model was measured ({:.2f} "
        "ms for the small training step of tools/collect/cpu_probe.py); yours may take a third "
        "more or less: time it there and say --step-probe",
        model.host.probe_microseconds * 1e-3));
  if (device.name != model.device.name)
    notes.push_back(fmt::format(
        "{} was not measured: times are scaled from {} by bandwidth and rates of arithmetic",
        device.name, model.device.name));
  if (!device.flops.contains("bf16"))
    notes.push_back(fmt::format(
        "{} has no bf16 arithmetic that is known: products take as long as in float32; fp16, "
        "which is not predicted, would be faster where the GPU has tensor cores",
        device.name));
  const double state_gb = kStateBytes * static_cast<double>(request.network.ops.parameters) / 1e9;
  if (state_gb > kNoteStateGb)
    notes.push_back(fmt::format(
        "weights, gradients and Adam's state take {:.0f} GB, activations come on top: whether "
        "that fits is not looked at here; `weir plan` does",
        state_gb));
  if (iteration.extrapolated_seconds > kNoteShare * iteration.gpu_seconds)
    notes.push_back(fmt::format("{:.0f} % of the GPU's time is of calls beyond what was measured",
                                100 * iteration.extrapolated_seconds / iteration.gpu_seconds));
  const double taken_for_others = seconds_of(stand_ins(iteration));
  if (taken_for_others > kNoteShare * iteration.gpu_seconds)
    notes.push_back(
        fmt::format("{:.0f} % of the GPU's time is of operators without times of their own",
                    100 * taken_for_others / iteration.gpu_seconds));
  return notes;
}

nlohmann::ordered_json iteration_json(const IterationRequest& request, const std::string& device,
                                      bool is_scaled,
                                      const predict::IterationPrediction& iteration) {
  nlohmann::ordered_json document = {{"model", request.network.name},
                                     {"batch", request.network.batch},
                                     {"parameters", request.network.ops.parameters},
                                     {"gpu", device},
                                     {"scaled", is_scaled},
                                     {"iteration_ms", iteration.seconds * 1e3},
                                     {"gpu_ms", iteration.gpu_seconds * 1e3},
                                     {"cpu_ms", iteration.cpu_seconds * 1e3},
                                     {"launch_bound", iteration.is_launch_bound()},
                                     {"operators", std::llround(iteration.calls)},
                                     {"kernels", std::llround(iteration.kernels)},
                                     {"extrapolated_ms", iteration.extrapolated_seconds * 1e3}};
  for (std::size_t i = 0; i < iteration.phase_seconds.size(); ++i)
    document["phases"][std::string{phase_name(i)}] = iteration.phase_seconds[i] * 1e3;
  for (std::size_t i = 0; i < iteration.class_seconds.size(); ++i)
    document["classes"][std::string{predict::kKernelClassNames[i]}] =
        iteration.class_seconds[i] * 1e3;
  document["longest"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < std::min(request.top, iteration.ops.size()); ++i) {
    const predict::PredictedOp& op = iteration.ops[i];
    document["longest"].push_back({{"call", to_string(op.op.call)},
                                   {"phase", to_string(op.op.phase)},
                                   {"count", op.op.count},
                                   {"ms", op.seconds * 1e3},
                                   {"class", predict::to_string(op.kind)},
                                   {"kernel", op.kernel},
                                   {"extrapolated", op.is_extrapolated}});
  }
  if (request.network.sequence > 0) document["sequence"] = request.network.sequence;
  document["stand_ins"] = nlohmann::ordered_json::array();
  for (const StandIn& one : stand_ins(iteration))
    document["stand_ins"].push_back(
        {{"op", one.op}, {"count", one.count}, {"ms", one.seconds * 1e3}, {"as", one.call}});
  return document;
}

}  // namespace

std::vector<OptionSpec> iteration_options() {
  std::vector<OptionSpec> specs = {
      {.name = "gpu",
       .type = OptionType::text,
       .help = "Without a plan: predict an iteration of --model on this GPU, kernel by kernel. "
               "h200 is measured; other GPUs "
               "that weir knows are scaled from it."},
      {.name = "batch",
       .type = OptionType::integer,
       .unit = "samples",
       .least = 1,
       .most = 1'000'000,
       .help = "With --gpu: samples in an iteration."},
      {.name = "kernel-model",
       .type = OptionType::file,
       .help = "A model that `weir kernels fit` wrote, instead of the built-in one; without --gpu "
               "for the GPU it was fitted to."},
      {.name = "step-probe",
       .type = OptionType::number,
       .unit = "ms",
       .least = 0.1,
       .most = 1000,
       .help = "With --gpu: how long the CPU takes for the small training step of "
               "tools/collect/cpu_probe.py. Default: as where the model was measured."},
      {.name = "top",
       .type = OptionType::integer,
       .default_text = "8",
       .least = 0,
       .most = 1000,
       .help = "With --gpu: how many of the longest operators to list."}};
  for (OptionSpec& spec : network_source_options()) specs.push_back(std::move(spec));
  return specs;
}

Result<void> predict_iteration_command(const OptionValues& options, Console& console) {
  Diagnostics mistakes;
  for (const char* name :
       {"profiles", "db", "size", "layers", "nodes", "gpus-per-node", "memory", "cost-model",
        "tp1-measurements", "overlap-transfers", "straddle", "timeline", "report"}) {
    if (options.is_given(name))
      mistakes.add({{},
                    0,
                    fmt::format("--{}", name),
                    "given",
                    "--plan with it, or no such option with --gpu"});
  }
  check_network_source(options, mistakes);
  const auto model = kernel_model_of(options);
  if (!model && model.error().code != ErrorCode::bad_input) return tl::unexpected(model.error());
  if (!model) mistakes.append(model.error().details);
  // Without --gpu, or by its full name: the model's own.
  auto device = options.has("gpu") ? predict::find_device(options.text("gpu")) : std::nullopt;
  if (!device && model && (!options.has("gpu") || options.text("gpu") == model->device.name))
    device = model->device;
  if (!device && options.has("gpu"))
    mistakes.add({{},
                  0,
                  "--gpu",
                  options.text("gpu"),
                  "one of h200, h100, a100, a100-80, v100, p100, t4, l4, p4"});
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  auto network = predicted_network(options);
  if (!network) return tl::unexpected(network.error());
  const IterationRequest request{std::move(*network),
                                 options.has("step-probe") ? options.number("step-probe") * 1e3 : 0,
                                 static_cast<std::size_t>(options.integer("top"))};
  const predict::KernelPredictor predictor{*model};
  auto iteration = predict::predict_iteration(predictor, request.network.ops, request.probe);
  const bool is_scaled = device->name != model->device.name;
  if (is_scaled) scale_to(model->device, *device, iteration);
  const auto notes = iteration_notes(request, *model, *device, iteration);
  if (options.flag("json")) {
    auto document = iteration_json(request, device->name, is_scaled, iteration);
    document["notes"] = notes;
    const auto json = formats::json_text(document, formats::JsonLayout::compact);
    if (!json) return tl::unexpected(json.error());
    console.out << *json << "\n";
  } else {
    console.out << iteration_text(request, device->name, is_scaled, iteration);
  }
  for (const std::string& note : notes) console.err << "note: " << note << "\n";
  return {};
}

}  // namespace weir::cli
