// SPDX-License-Identifier: Apache-2.0
#include "cli/client_explain.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/client_api.h"

namespace weir::cli {

Result<LiveStory> story_from_server(const std::string& job, const OptionValues& options,
                                    Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return tl::unexpected(client.error());
  const auto known = client->get(job_path(job));
  if (!known) return tl::unexpected(known.error());
  const std::string id = fmt::format("{}", integer_in(*known, "id").value_or(0));
  const auto reply = client->send("GET", job_path(id, "/records"));
  if (!reply) return tl::unexpected(reply.error());
  if (!reply->succeeded()) return client->refused(*reply);
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  auto told = live_story(known->dump(), reply->body, now);
  if (!told) return tl::unexpected(told.error());
  if (!*told) {
    console.err << "weir: the server has no records of job " << id << " any more\n";
    return only_code(ErrorCode::failure);
  }
  return std::move(**told);
}

ApiJson counterfactuals_from_server(const std::string& job, const OptionValues& options,
                                    Console& console) {
  auto client = ApiClient::make(options, console);
  if (!client) return ApiJson::array();
  const auto reply = client->send("GET", job_path(job, "/counterfactuals"));
  if (!reply || !reply->succeeded()) return ApiJson::array();
  const ApiJson json = ApiJson::parse(reply->body, nullptr, false);
  if (!json.is_object() || !json.contains("would_change") || !json["would_change"].is_array())
    return ApiJson::array();
  return json["would_change"];
}

}  // namespace weir::cli
