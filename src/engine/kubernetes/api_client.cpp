// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/api_client.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/kubernetes/certificate_dates.h"

namespace weir::engine::kubernetes {

Time system_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

namespace {

constexpr std::size_t kMaxReply = std::size_t{512} << 20;
constexpr int kUnauthorized = 401;

transport::HttpClientOptions options_of(const ApiServer& server, const Credentials& credentials,
                                        const ApiClientSettings& settings) {
  transport::HttpClientOptions options;
  options.base_url = server.url;
  options.token = credentials.token;
  options.user = credentials.user;
  options.password = credentials.password;
  options.tls.authorities = server.authorities;
  options.tls.client_certificate = credentials.client_certificate;
  options.tls.client_key = credentials.client_key;
  options.tls.server_name = server.server_name;
  options.tls.is_unchecked = server.is_unchecked;
  options.proxy = server.proxy;
  options.user_agent = settings.user_agent;
  options.expected_server = "a Kubernetes API server there";
  options.limits.connect_time = std::chrono::seconds{10};
  options.limits.total_time = settings.answer_time;
  options.limits.silence_time = settings.silence_time;
  options.limits.reply_bytes = kMaxReply;
  return options;
}

const transport::HeaderList& json_wanted() {
  static const transport::HeaderList headers{{"Accept", "application/json"}};
  return headers;
}

Error bad_certificate(std::string fault) {
  Diagnostics details;
  details.add(
      Diagnostic{"", 0, "the client certificate", std::move(fault), "one that is valid now"});
  return Error{ErrorCode::unavailable, std::move(details)};
}

}  // namespace

ApiClient::ApiClient(ApiServer server, ApiClientSettings settings, RequestCounts* counts)
    : server_{std::move(server)}, settings_{std::move(settings)}, counts_{counts} {
  if (!settings_.now) settings_.now = system_now;
}

std::optional<Error> ApiClient::connect() {
  auto credentials = server_.credentials->current(settings_.now());
  if (!credentials) return std::move(credentials.error());
  if (http_ && used_ == *credentials) return std::nullopt;
  if (!credentials->client_certificate.empty()) {
    const std::string fault = certificate_fault(credentials->client_certificate, settings_.now());
    if (!fault.empty()) return bad_certificate(fault);
  }
  http_.emplace(options_of(server_, *credentials, settings_));
  used_ = std::move(*credentials);
  return std::nullopt;
}

template <class Ask>
Result<transport::HttpReply> ApiClient::ask(std::string_view verb, Ask ask_once) {
  using Clock = std::chrono::steady_clock;
  for (int attempt = 0;; ++attempt) {
    if (auto error = connect()) return tl::unexpected(std::move(*error));
    const Clock::time_point begin = Clock::now();
    Result<transport::HttpReply> reply = ask_once();
    if (counts_ != nullptr) counts_->add(verb, reply ? reply->status : 0, Clock::now() - begin);
    if (!reply || reply->status != kUnauthorized || attempt > 0) return reply;
    server_.credentials->refused(*used_);
  }
}

Result<transport::HttpReply> ApiClient::get(std::string_view path) {
  return ask("get", [&] { return http_->get_packed(path, json_wanted()); });
}

Result<transport::HttpReply> ApiClient::stream(
    std::string_view path, const std::function<bool(std::string_view bytes)>& on_bytes,
    const std::function<bool()>& should_stop, const std::function<void()>& on_begin) {
  return ask("watch",
             [&] { return http_->stream(path, json_wanted(), on_bytes, should_stop, on_begin); });
}

std::optional<Duration> retry_after(const transport::HttpReply& reply) {
  const auto text = reply.headers.find("Retry-After");
  if (!text) return std::nullopt;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error != std::errc{} || end != text->data() + text->size() || seconds < 0)
    return std::nullopt;
  constexpr std::int64_t kMost = 300;  // more is a mistake, or somebody who wants us blind
  return from_seconds(std::min(seconds, kMost));
}

}  // namespace weir::engine::kubernetes
