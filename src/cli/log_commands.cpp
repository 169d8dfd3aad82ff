// SPDX-License-Identifier: Apache-2.0
#include "cli/log_commands.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/client_api.h"
#include "cli/client_context.h"
#include "simulate/live_history.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> failed(const fs::path& file, std::string found, std::string expected) {
  Diagnostics details;
  details.add({file.string(), 0, "", std::move(found), std::move(expected)});
  return tl::unexpected<Error>(Error{ErrorCode::failure, std::move(details)});
}

CommandSpec export_spec() {
  CommandSpec spec{
      .name = "trace export",
      .summary = "Write what a server has decided, and why, to a file.",
      .about =
          "Every event with the records that followed from it, one JSON object per line. `weir "
          "simulate --from-log` plays it again, under any policy; `weir explain` tells the story "
          "of a job in it; `weir trace replay` checks it.",
      .options = {{.name = "out",
                   .type = OptionType::file,
                   .help = "The file to write; replaced if it exists.",
                   .required = true}},
      .examples = {{"weir trace export --out yesterday.jsonl", "Keep what happened."}}};
  for (OptionSpec& option : server_options()) spec.options.push_back(std::move(option));
  return spec;
}

Result<void> export_command(const OptionValues& options, Console& console) {
  auto address = server_address(options);
  if (!address) return tl::unexpected<Error>(std::move(address.error()));
  const fs::path out = options.text("out");
  const fs::path beside = out.string() + ".part";
  std::ofstream file{beside, std::ios::binary | std::ios::trunc};
  if (!file) return failed(out, std::strerror(errno), "a file that can be written");
  transport::HttpClient client = client_of(*address);
  std::uint64_t lines = 0;
  const auto reply = client.stream("/v1/log", {}, [&](std::string_view bytes) {
    lines += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file.good();
  });
  file.close();
  std::error_code ignored;
  if (!reply || !reply->succeeded() || !file) {
    fs::remove(beside, ignored);
    if (!reply) return tl::unexpected<Error>(reply.error());
    if (!file) return failed(out, "could not be written", "a disk with room");
    return failed(address->url, fmt::format("status {}: {}", reply->status, reply->body),
                  "the log");
  }
  fs::rename(beside, out, ignored);
  if (ignored) return failed(out, ignored.message(), "a file that can be replaced");
  console.err << fmt::format("wrote {} ({} lines)\n", out.string(), lines);
  return {};
}

CommandSpec replay_spec() {
  return {.name = "trace replay",
          .summary = "Decide everything in a server's log again and compare.",
          .about =
              "Feeds the events of a log to the scheduler and compares each record with the one "
              "in the log, byte by byte. They are the same unless the log was changed, or the "
              "scheduler decides differently in this version.",
          .options = {{.name = "log",
                       .type = OptionType::file,
                       .help = "A log of `weir trace export`.",
                       .required = true,
                       .positional = true}},
          .examples = {{"weir trace replay yesterday.jsonl", "Is it what would be decided now?"}}};
}

Result<void> replay_command(const OptionValues& options, Console& console) {
  const auto replayed = simulate::replay(options.text("log"));
  if (!replayed) return tl::unexpected<Error>(replayed.error());
  if (replayed->difference) {
    return failed(options.text("log"), *replayed->difference,
                  "the same records (this version may decide differently)");
  }
  console.out << fmt::format("{} events decided again: all {} records are the same bytes\n",
                             replayed->events, replayed->records);
  return {};
}

CommandSpec backup_spec() {
  CommandSpec spec{.name = "backup",
                   .summary = "Copy a server's store while it works.",
                   .about =
                       "The server writes a consistent copy on its own machine. To restore, stop "
                       "the server, put the copy in the place of weir.db, remove weir.db-wal and "
                       "weir.db-shm, and start it again.",
                   .options = {{.name = "file",
                                .type = OptionType::file,
                                .help = "Where to write it; must not exist.",
                                .required = true,
                                .positional = true}},
                   .examples = {{"weir backup weir-monday.db", "Every night, from a timer."}}};
  for (OptionSpec& option : server_options()) spec.options.push_back(std::move(option));
  return spec;
}

Result<void> backup_command(const OptionValues& options, Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected<Error>(std::move(client.error()));
  const std::string file = fs::absolute(options.text("file")).string();
  const auto done = client->post("/v1/backup", ApiJson{{"file", file}}.dump());
  if (!done) return tl::unexpected<Error>(done.error());
  console.out << fmt::format("wrote {} ({} bytes)\n", file, integer_in(*done, "bytes").value_or(0));
  return {};
}

}  // namespace

std::vector<Command> log_commands() {
  return {{backup_spec(), backup_command},
          {export_spec(), export_command},
          {replay_spec(), replay_command}};
}

}  // namespace weir::cli
