// SPDX-License-Identifier: Apache-2.0
#include "cli/client_api.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "formats/json_text.h"
#include "formats/time_text.h"
#include "report/clock_text.h"
#include "transport/request_target.h"

namespace weir::cli {
ErrorCode code_of_status(int status) {
  switch (status) {
    case 400:
    case 404:
    case 413:
    case 422:
      return ErrorCode::bad_input;
    case 429:
    case 502:
    case 503:
    case 504:
      return ErrorCode::unavailable;
    default:
      return ErrorCode::failure;
  }
}

std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
  }
  return text;
}

std::string problem_title(const transport::HttpReply& reply) {
  const ApiJson problem = ApiJson::parse(reply.body, nullptr, false);
  std::string line = text_in(problem, "title");
  if (line.empty()) line = fmt::format("HTTP status {}", reply.status);
  if (const std::string detail = text_in(problem, "detail"); !detail.empty()) line += ": " + detail;
  return printable(std::move(line));
}

Result<ApiClient> ApiClient::make(const OptionValues& options, Console& console) {
  auto address = server_address(options);
  if (!address) return tl::unexpected(std::move(address.error()));
  return of(std::move(*address), console);
}

ApiClient ApiClient::of(ServerAddress address, Console& console) {
  return ApiClient{client_of(std::move(address)), console};
}

Result<transport::HttpReply> ApiClient::send(std::string_view method, std::string_view path,
                                             std::string_view body,
                                             const transport::HeaderList& headers) {
  return http_.send(method, path, body, "application/json", headers);
}

Result<ApiJson> ApiClient::get(std::string_view path) {
  const auto reply = http_.get(path);
  if (!reply) return tl::unexpected(reply.error());
  return json_of(*reply);
}

Result<ApiJson> ApiClient::post(std::string_view path, std::string_view body) {
  const auto reply = send("POST", path, body);
  if (!reply) return tl::unexpected(reply.error());
  return json_of(*reply);
}

Result<ApiJson> ApiClient::put_file(std::string_view path, std::string_view content,
                                    std::string_view type, std::string_view file) {
  const auto reply = http_.send("PUT", path, content, type);
  if (!reply) return tl::unexpected(reply.error());
  return json_of(*reply, file);
}

Result<ApiJson> ApiClient::json_of(const transport::HttpReply& reply, std::string_view body_name) {
  if (!reply.succeeded()) return refused(reply, body_name);
  ApiJson json = ApiJson::parse(reply.body, nullptr, false);
  if (json.is_object()) return json;
  console_->err << "weir: the answer of " << http_.base_url()
                << " is no JSON object; is that a weir server?\n";
  return only_code(ErrorCode::failure);
}

tl::unexpected<Error> ApiClient::refused(const transport::HttpReply& reply,
                                         std::string_view body_name) {
  const ApiJson problem = ApiJson::parse(reply.body, nullptr, false);
  console_->err << "weir: " << problem_title(reply) << "\n";
  if (problem.is_object() && problem.contains("errors") && problem["errors"].is_array()) {
    for (const ApiJson& error : problem["errors"]) {
      std::string message = text_in(error, "message");
      constexpr std::string_view kBody = "body:";
      if (message.starts_with(kBody)) message.replace(0, kBody.size() - 1, body_name);
      console_->err << printable(std::move(message)) << "\n";
    }
  }
  return only_code(code_of_status(reply.status));
}

std::string job_path(std::string_view job, std::string_view below) {
  return fmt::format("/v1/jobs/{}{}", transport::percent_encoded(job), below);
}

std::string text_in(const ApiJson& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_string()) return "";
  return json[key].get<std::string>();
}

std::optional<std::int64_t> integer_in(const ApiJson& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer()) {
    return std::nullopt;
  }
  return json[key].get<std::int64_t>();
}

bool truth_in(const ApiJson& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_boolean() && json[key].get<bool>();
}

std::optional<Time> time_in(const ApiJson& json, const char* key) {
  return formats::parse_time(text_in(json, key));
}

std::string clock_in(const ApiJson& json, const char* key, std::string_view otherwise) {
  const auto time = time_in(json, key);
  return time ? report::clock_text(*time) : std::string{otherwise};
}

tl::unexpected<Error> only_code(ErrorCode code) {
  return tl::unexpected(Error{code, {}});
}

Result<void> print_json(const ApiJson& json, Console& console) {
  const auto text = formats::json_text(json);
  if (!text) return tl::unexpected(text.error());
  console.out << *text;
  return {};
}

OptionSpec client_json_option() {
  return {.name = "json",
          .type = OptionType::flag,
          .help = "Print JSON for programs instead of text for people.",
          .in_recipe = false};
}

CommandSpec with_client_options(CommandSpec spec) {
  spec.options.push_back(client_json_option());
  const std::vector<OptionSpec> server = server_options();
  spec.options.insert(spec.options.end(), server.begin(), server.end());
  return spec;
}

std::string trouble_line(ApiClient& client) {
  const auto reply = client.send("GET", "/v1/overview");
  if (!reply || !reply->succeeded()) return {};
  const auto overview = ApiJson::parse(reply->body, nullptr, false);
  const std::string trouble = overview.is_object() ? text_in(overview, "trouble") : std::string{};
  return trouble.empty() ? trouble : "Not the whole picture: " + trouble + "\n";
}

}  // namespace weir::cli
