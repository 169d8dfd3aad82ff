// SPDX-License-Identifier: Apache-2.0
#include "report/transformer_accuracy.h"

#include <fmt/format.h>

#include <cctype>
#include <initializer_list>
#include <string_view>

namespace weir::report {
namespace {

constexpr std::string_view kPublicRuns =
    "public runs on A100s, with trainers of 2021 to 2023, were within 21 %, most of them slower";

constexpr std::string_view kHopperRuns =
    "public runs of MPTs on 8 to 64 H100s had 64 to 86 % of such rates, Llama 3 405B on thousands "
    "of them 90 to 100 %";

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> chips) {
  for (const std::string_view chip : chips)
    if (name.starts_with(chip)) return true;
  return false;
}

}  // namespace

std::string transformer_accuracy(const predict::TransformerTask& task) {
  const std::string_view gpu = task.gpu.name;
  if (task.compute) {
    if (task.gpu.is_described || !is_one_of(gpu, {"H200"}))
      return fmt::format("no iteration of {} was compared", gpu);
    return fmt::format(
        "iterations on one H200 were within {} % of such times; more than one GPU was not compared",
        task.runtime.autocasts ? 15 : 6);
  }
  if (task.runtime.autocasts)
    return "it knows no casts of weights: under autocast it was 16 to 39 % too fast on one H200 "
           "where "
           "the GPU set the pace, and up to 29 % too slow where the CPU's launches did";
  if (task.gpu.is_described) return fmt::format("no run of {} was compared; {}", gpu, kPublicRuns);
  if (is_one_of(gpu, {"A100"})) return std::string{kPublicRuns};
  if (is_one_of(gpu, {"H100"})) return fmt::format("{}; {}", kHopperRuns, kPublicRuns);
  if (is_one_of(gpu, {"H200"}))
    return fmt::format("steps of GPTs on one H200 were within 12 %; {}", kHopperRuns);
  if (is_one_of(gpu, {"H800"}))
    return fmt::format("no run of {} was compared; {}", gpu, kHopperRuns);
  return fmt::format("no run of {} was compared; {}", gpu, kPublicRuns);
}

std::string compute_times_words(const predict::TransformerTask& task) {
  if (!task.compute)
    return fmt::format(
        "Compute times: analytic. Nothing was measured: {} "
        "(docs/models/transformer.md).",
        transformer_accuracy(task));
  std::string accuracy = transformer_accuracy(task);
  accuracy.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(accuracy.front())));
  return fmt::format(
      "Compute times: {}, links by latency and bandwidth "
      "(docs/models/transformer.md).\n{}.",
      task.compute->source(), accuracy);
}

}  // namespace weir::report
