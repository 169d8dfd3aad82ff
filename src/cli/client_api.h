// SPDX-License-Identifier: Apache-2.0
//
// Calls of the server's API (docs/openapi.yaml) for commands, and what its answers mean for people
// and for exit codes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/client_context.h"
#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"
#include "domain/time.h"
#include "transport/http_client.h"

namespace weir::cli {

using ApiJson = nlohmann::ordered_json;

class ApiClient {
 public:
  // Requires: the command has server_options().
  static Result<ApiClient> make(const OptionValues& options, Console& console);

  static ApiClient of(ServerAddress address, Console& console);

  // Any answer; an error only when there was none.
  Result<transport::HttpReply> send(std::string_view method, std::string_view path,
                                    std::string_view body = "",
                                    const transport::HeaderList& headers = {});
  // The JSON of a good answer. What the server says of any other is printed, and the error only has
  // the code that follows from it.
  Result<ApiJson> get(std::string_view path);
  Result<ApiJson> post(std::string_view path, std::string_view body = "");

  // The content of a file, which mistakes in it are told of.
  Result<ApiJson> put_file(std::string_view path, std::string_view content, std::string_view type,
                           std::string_view file);

  // `body_name` stands for the body in what the server says.
  Result<ApiJson> json_of(const transport::HttpReply& reply, std::string_view body_name = "body");
  // Prints what is wrong, as the server says it.
  tl::unexpected<Error> refused(const transport::HttpReply& reply,
                                std::string_view body_name = "body");

 private:
  ApiClient(transport::HttpClient http, Console& console)
      : http_{std::move(http)}, console_{&console} {}

  transport::HttpClient http_;
  Console* console_;
};

// What the server says of an answer that is no good, in a line: "Bad Request: the job has mistakes".
std::string problem_title(const transport::HttpReply& reply);
ErrorCode code_of_status(int status);
// Text of a server reaches the terminal: control bytes do not.
std::string printable(std::string text);

// "/v1/jobs/bert"
std::string job_path(std::string_view job, std::string_view below = "");

// Members of an answer. Nothing, or empty, when it has no such member of that kind.
std::string text_in(const ApiJson& json, const char* key);
std::optional<std::int64_t> integer_in(const ApiJson& json, const char* key);
bool truth_in(const ApiJson& json, const char* key);
std::optional<Time> time_in(const ApiJson& json, const char* key);
// "2026-11-15T09:00:00Z", to the second; `otherwise` when it has none.
std::string clock_in(const ApiJson& json, const char* key, std::string_view otherwise = "");

// An error that has been told already.
tl::unexpected<Error> only_code(ErrorCode code);

Result<void> print_json(const ApiJson& json, Console& console);

OptionSpec client_json_option();
// With that and server_options() as its last.
CommandSpec with_client_options(CommandSpec spec);

// Why what the server shows may be old or has holes, as a line; empty: it is whole, or nobody knows.
std::string trouble_line(ApiClient& client);

}  // namespace weir::cli
