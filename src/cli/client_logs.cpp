// SPDX-License-Identifier: Apache-2.0
#include "cli/client_logs.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <thread>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "cli/client_job_text.h"

namespace weir::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPause = 300ms;  // between looks at a log that grows

std::optional<std::int64_t> number_in(const transport::HttpReply& reply, std::string_view header) {
  const auto text = reply.headers.find(header);
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

// Copies the log of one rank, generation after generation.
class LogPrinter {
 public:
  LogPrinter(ApiClient& client, const OptionValues& options, Console& console)
      : client_{client},
        console_{console},
        job_{options.text("job")},
        rank_{options.integer("rank")},
        follows_{options.flag("follow")},
        is_one_generation_{options.has("generation")} {
    if (is_one_generation_) generation_ = options.integer("generation");
    if (options.has("tail")) offset_ = -options.integer("tail");
  }

  Result<void> print() {
    // The id: another job may get the name while we read.
    auto job = client_.get(job_path(job_));
    if (!job) return tl::unexpected(job.error());
    id_ = integer_in(*job, "id").value_or(0);
    while (true) {
      auto step = print_some();
      if (!step) return tl::unexpected(step.error());
      if (*step == Step::over) return {};
      if (*step == Step::wait) std::this_thread::sleep_for(kPause);
    }
  }

 private:
  enum class Step : std::uint8_t { more, wait, over };

  Result<Step> print_some() {
    const std::string of_generation =
        generation_ ? fmt::format("&generation={}", *generation_) : std::string{};
    const auto reply = client_.send(
        "GET", job_path(fmt::format("{}", id_),
                        fmt::format("/logs?rank={}&offset={}{}", rank_, offset_, of_generation)));
    if (!reply) return tl::unexpected(reply.error());
    if (reply->status == 404 && follows_) return nothing_yet(*reply);
    if (!reply->succeeded()) return client_.refused(*reply);
    console_.out << reply->body;
    console_.out.flush();
    if (!console_.out) return Step::over;
    if (!generation_) generation_ = number_in(*reply, "X-Weir-Generation");
    offset_ = number_in(*reply, "X-Weir-Next-Offset").value_or(offset_);
    if (!reply->body.empty()) return Step::more;
    const bool is_over = reply->headers.find("X-Weir-Over") == "true";
    if (!follows_) return Step::over;
    return is_over ? next_generation() : Result<Step>{Step::wait};
  }

  // It has not started; or it is over and never did.
  Result<Step> nothing_yet(const transport::HttpReply& reply) {
    const auto job = client_.get(job_path(fmt::format("{}", id_)));
    if (!job) return tl::unexpected(job.error());
    if (is_over(*job)) return client_.refused(reply);
    return Step::wait;
  }

  // A job that was resized or restarted goes on in another log.
  Result<Step> next_generation() {
    const auto job = client_.get(job_path(fmt::format("{}", id_)));
    if (!job) return tl::unexpected(job.error());
    const auto latest = integer_in(*job, "generation").value_or(0);
    if (!is_one_generation_ && generation_ && latest > *generation_ && has_log(latest)) {
      generation_ = latest;
      offset_ = 0;
      return Step::more;
    }
    return is_over(*job) || is_one_generation_ ? Step::over : Step::wait;
  }

  bool has_log(std::int64_t generation) {
    const auto reply = client_.send(
        "GET", job_path(fmt::format("{}", id_),
                        fmt::format("/logs?rank={}&limit=1&generation={}", rank_, generation)));
    return reply && reply->succeeded();
  }

  ApiClient& client_;
  Console& console_;
  std::string job_;
  std::int64_t id_ = 0;
  std::int64_t rank_;
  std::optional<std::int64_t> generation_;
  std::int64_t offset_ = 0;
  bool follows_;
  bool is_one_generation_;
};

}  // namespace

CommandSpec logs_spec() {
  CommandSpec spec = {
      .name = "logs",
      .summary = "Show what a job has printed.",
      .about =
          "Copies what a job's process has written to standard output and standard error. "
          "Each run of a job, after a change of its GPUs or a failure, has a log of its own; "
          "the latest is shown, and with -f the ones that follow.",
      .options = {{.name = "job",
                   .type = OptionType::text,
                   .help = "Its name (the latest of that name) or its id.",
                   .required = true,
                   .positional = true},
                  {.name = "follow",
                   .type = OptionType::flag,
                   .help = "Go on until the job is over.",
                   .short_name = "f"},
                  {.name = "rank",
                   .type = OptionType::integer,
                   .default_text = "0",
                   .least = 0,
                   .help = "Which of its processes."},
                  {.name = "generation",
                   .type = OptionType::integer,
                   .least = 1,
                   .help = "Which of its runs. Otherwise the latest."},
                  {.name = "tail",
                   .type = OptionType::integer,
                   .unit = "bytes",
                   .least = 1,
                   .help = "Begin that many bytes before the end."}},
      .examples = {{"weir logs bert -f", "Watch it train."}}};
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

Result<void> logs_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  return LogPrinter{*client, options, console}.print();
}

}  // namespace weir::cli
