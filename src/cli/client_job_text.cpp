// SPDX-License-Identifier: Apache-2.0
#include "cli/client_job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/clock_text.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

std::string title_of(const ApiJson& job) {
  return fmt::format("job {} ({})", integer_in(job, "id").value_or(0), text_in(job, "name"));
}

// ", expected to finish ..."; nothing when nobody knows.
std::string expectation(const ApiJson& job) {
  const std::string finish = clock_in(job, "expected_finish");
  return finish.empty() ? "" : ", expected to finish " + finish;
}

std::string in_brackets(const std::string& text) {
  return text.empty() ? "" : fmt::format(" ({})", text);
}

std::string refusal(const ApiJson& answer) {
  std::string text = fmt::format("refused: {}.", text_in(answer, "reason"));
  if (const std::string earliest = clock_in(answer, "earliest_deadline"); !earliest.empty()) {
    text += fmt::format(" The earliest deadline that can be promised is {}.", earliest);
  }
  return text;
}

std::string promise_of(const ApiJson& job) {
  if (truth_in(job, "at_risk")) return "at risk";
  if (job.contains("met_deadline")) return truth_in(job, "met_deadline") ? "kept" : "late";
  if (truth_in(job, "promised")) return "promised";
  return "";
}

std::string nodes_of(const ApiJson& job) {
  std::string text;
  if (!job.contains("nodes") || !job["nodes"].is_array()) return text;
  for (const ApiJson& node : job["nodes"]) {
    if (!node.is_string()) continue;
    if (!text.empty()) text += ", ";
    text += node.get<std::string>();
  }
  return text;
}

// "2.5 on 1, 4.8 on 2 GPUs, measured"
std::string curve_of(const ApiJson& job) {
  if (!job.contains("curve") || !job["curve"].is_object()) return "";
  const ApiJson& curve = job["curve"];
  if (!curve.contains("rates") || !curve["rates"].is_object()) return "";
  std::string text;
  for (const auto& [gpus, rate] : curve["rates"].items()) {
    if (!rate.is_number()) continue;
    text += fmt::format("{}{:.3g} on {}", text.empty() ? "" : ", ", rate.get<double>(), gpus);
  }
  const std::string origin = text_in(curve, "origin");
  return text.empty()
             ? ""
             : fmt::format("{} GPUs, {}", text,
                           origin == "planned" ? "planned from its model, not measured" : origin);
}

// "4.2 s: save 0.3, stop 0.1, ..., warm"; waiting and working on are not counted.
std::string last_change_of(const ApiJson& job) {
  if (!job.contains("last_change") || !job["last_change"].is_object()) return "";
  std::string parts;
  double lost = 0;
  for (const auto& [part, time] : job["last_change"].items()) {
    if (!time.is_number() || time.get<double>() <= 0) continue;
    if (part != "announce" && part != "wait") lost += time.get<double>();
    parts += fmt::format("{}{} {:.2f}", parts.empty() ? "" : ", ", part, time.get<double>());
  }
  return fmt::format("{:.2f} s: {}{}", lost, parts,
                     truth_in(job["last_change"], "warm") ? ", warm" : "");
}

}  // namespace

bool is_over(const ApiJson& job) {
  constexpr std::array<std::string_view, 4> kOver{"finished", "failed", "cancelled", "refused"};
  return std::find(kOver.begin(), kOver.end(), text_in(job, "phase")) != kOver.end();
}

std::string answer_sentence(const ApiJson& job) {
  const std::string phase = text_in(job, "phase");
  const std::string name = text_in(job, "name");
  if (phase == "refused") return fmt::format("{} is {}", name, refusal(job));
  const std::string head = fmt::format("{} is job {}", name, integer_in(job, "id").value_or(0));
  if (truth_in(job, "promised")) {
    return fmt::format("{}: promised by {}{}.", head, clock_in(job, "deadline"), expectation(job));
  }
  if (is_over(job)) return fmt::format("{}: {}.", head, phase);
  return fmt::format("{}: {} without a promise{}{}.", head, phase, expectation(job),
                     in_brackets(text_in(job, "reason")));
}

std::string dry_run_sentence(const std::string& name, const ApiJson& answer) {
  const std::string what = text_in(answer, "answer");
  if (what == "refused") return fmt::format("{} would be {}", name, refusal(answer));
  std::string text = fmt::format("{} would be ", name);
  if (what == "promised") {
    text += fmt::format("promised by {}", clock_in(answer, "deadline", "its deadline"));
  } else if (what == "waiting") {
    text +=
        "waiting: nobody knows yet how fast it runs; state its throughput, or let it be measured "
        "first with profile: true";
  } else {
    text += "queued without a promise";
  }
  if (const std::string start = clock_in(answer, "expected_start"); !start.empty()) {
    text += ", expected to start " + start;
  }
  text += expectation(answer) + ".";
  if (const std::string earliest = clock_in(answer, "earliest_deadline"); !earliest.empty()) {
    text += fmt::format(" The earliest deadline that can be promised is {}.", earliest);
  }
  if (const auto others = integer_in(answer, "replanned"); others && *others > 0) {
    text += fmt::format(" {} other job{} would be planned anew.", *others, *others == 1 ? "" : "s");
  }
  return text;
}

std::string end_sentence(const ApiJson& job) {
  std::string text = fmt::format("{} {}", title_of(job), text_in(job, "phase"));
  const auto started = time_in(job, "started");
  const auto ended = time_in(job, "ended");
  if (started && ended) text += " after " + report::length_text(*ended - *started);
  if (const std::string exit = text_in(job, "exit"); !exit.empty()) text += ": " + exit;
  if (job.contains("met_deadline")) {
    text += truth_in(job, "met_deadline") ? ", in time" : ", after its deadline";
  }
  return text;
}

// "1.25 kWh, 410 g CO2 (modelled), clock 70 % (not set: Insufficient Permissions)"
std::string energy_text(const ApiJson& energy) {
  const auto number = [&](const char* key, double otherwise) {
    return energy.is_object() && energy.contains(key) && energy[key].is_number()
               ? energy[key].get<double>()
               : otherwise;
  };
  std::string text =
      fmt::format("{:.4g} kWh, {:.4g} {} ({})", number("kwh", 0), number("amount", 0),
                  text_in(energy, "unit"), text_in(energy, "source"));
  if (const double clock = number("clock", 1); clock < 1) {
    text += fmt::format(", clock {:.0f} %", clock * 100);
    if (const std::string problem = text_in(energy, "clock_problem"); !problem.empty())
      text += fmt::format(" (not set: {})", problem);
  }
  return text;
}

std::string share_done(const ApiJson& job) {
  const auto all = integer_in(job, "iterations");
  const auto done = integer_in(job, "done");
  if (!all || !done || *all <= 0) return "";
  const double share = static_cast<double>(*done) / static_cast<double>(*all);
  return fmt::format("{} %", static_cast<int>(std::clamp(share, 0.0, 1.0) * 100));
}

// When it was over, or when it is expected to be. An expectation that rests on a plan says so.
std::string finish_of(const ApiJson& job) {
  if (const std::string ended = clock_in(job, "ended"); !ended.empty()) return ended;
  const std::string expected = clock_in(job, "expected_finish");
  const bool is_planned = job.contains("curve") && text_in(job["curve"], "origin") == "planned";
  return expected.empty() || !is_planned ? expected : expected + " (rate planned, not measured)";
}

report::Table job_table(const ApiJson& jobs) {
  using report::Align;
  report::Table table{"",
                      {{"id", Align::right},
                       {"name", Align::left},
                       {"phase", Align::left},
                       {"GPUs", Align::right},
                       {"done", Align::right},
                       {"deadline", Align::left},
                       {"promise", Align::left},
                       {"finish", Align::left}},
                      {}};
  if (!jobs.is_array()) return table;
  for (const ApiJson& job : jobs) {
    table.rows.push_back({fmt::format("{}", integer_in(job, "id").value_or(0)),
                          text_in(job, "name"), text_in(job, "phase"),
                          fmt::format("{}", integer_in(job, "gpus").value_or(0)), share_done(job),
                          clock_in(job, "deadline"), promise_of(job), finish_of(job)});
  }
  return table;
}

std::string job_details(const ApiJson& job) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<18}{}\n", name, value);
  };
  const auto number = [&](std::string_view name, const char* key) {
    if (const auto value = integer_in(job, key)) line(name, fmt::format("{}", *value));
  };
  number("id", "id");
  line("name", text_in(job, "name"));
  line("tenant", text_in(job, "tenant"));
  number("priority", "priority");
  line("phase", text_in(job, "phase"));
  line("why", text_in(job, "reason"));
  line("submitted", clock_in(job, "submitted"));
  if (const std::string deadline = clock_in(job, "deadline"); !deadline.empty()) {
    line("deadline", deadline + in_brackets(text_in(job, "deadline_kind")));
  }
  line("promise", promise_of(job));
  line("earliest deadline", clock_in(job, "earliest_deadline"));
  line("started", clock_in(job, "started", clock_in(job, "expected_start")));
  if (!is_over(job)) line("expected finish", clock_in(job, "expected_finish"));
  line("ended", clock_in(job, "ended"));
  line("exit", text_in(job, "exit"));
  number("GPUs", "gpus");
  line("on", nodes_of(job));
  number("iterations", "iterations");
  if (const auto done = integer_in(job, "done")) {
    line("done", fmt::format("{}{}", *done, in_brackets(share_done(job))));
  }
  if (job.contains("energy")) line("energy", energy_text(job["energy"]));
  if (job.contains("speed") && job["speed"].is_number()) {
    line("speed",
         fmt::format("{:.2f} of its curve, as it is known now", job["speed"].get<double>()));
  }
  const auto measured = [&](std::string_view name, const char* key, std::string_view unit) {
    if (job.contains(key) && job[key].is_number())
      line(name, fmt::format("{:.4g}{}", job[key].get<double>(), unit));
  };
  measured("rate", "rate", " iterations per second");
  measured("loss", "loss", "");
  line("planned with", curve_of(job));  // when it was answered
  line("last change", last_change_of(job));
  number("generation", "generation");
  number("restarts", "restarts");
  number("resumes", "resumes");
  return text;
}

}  // namespace weir::cli
