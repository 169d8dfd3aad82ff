// SPDX-License-Identifier: Apache-2.0
#include "control/api.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "formats/job_document.h"
#include "formats/record_log.h"
#include "formats/time_text.h"

namespace weir::control {
namespace {

using transport::EventStream;
using transport::HttpRequest;
using transport::HttpResponse;
using transport::problem;
using transport::Responder;

constexpr std::size_t kLongestKey = 128;
constexpr std::size_t kEntriesAtOnce = 256;
constexpr std::size_t kMostEntriesOfAJob = 20'000;
constexpr std::int64_t kMostJobsPerPage = 1000;
constexpr std::int64_t kMostLogBytes = 1 << 20;

HttpResponse json_response(int status, std::string body) {
  body += '\n';
  return {status, "application/json", std::move(body), {}};
}

HttpResponse unavailable(std::string_view detail) {
  while (detail.ends_with('\n')) detail.remove_suffix(1);
  HttpResponse response = problem(503, "", detail);
  response.headers.add("Retry-After", "1");
  return response;
}

// All mistakes in one text, for a problem's detail.
std::string text_of(const Diagnostics& details) {
  std::string text = to_string(details);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

HttpResponse store_trouble(const Error& error) {
  return unavailable("the store cannot be read: " + text_of(error.details));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return value;
}

// The query's parameters, each known and read once; notes every mistake.
class QueryReader {
 public:
  QueryReader(const HttpRequest& request, std::initializer_list<std::string_view> known)
      : request_{request} {
    for (const auto& parameter : request.query) {
      const auto& name = parameter.first;
      const auto& value = parameter.second;
      const auto at = std::find(known.begin(), known.end(), name);
      if (at == known.end()) {
        note(name, value, fmt::format("one of {}", fmt::join(known, ", ")));
      } else if (std::count_if(request.query.begin(), request.query.end(),
                               [&](const auto& other) { return other.first == name; }) > 1) {
        note(name, value, "to be given once");
      }
    }
  }

  std::int64_t number(std::string_view name, std::int64_t fallback, std::int64_t least,
                      std::int64_t most) {
    const auto text = request_.query_value(name);
    if (!text) return fallback;
    const auto value = whole_number(*text);
    if (value && *value >= least && *value <= most) return *value;
    note(name, *text, fmt::format("a whole number from {} to {}", least, most));
    return fallback;
  }
  std::string choice(std::string_view name, std::string_view fallback,
                     std::initializer_list<std::string_view> choices) {
    const auto text = request_.query_value(name);
    if (!text) return std::string{fallback};
    if (std::find(choices.begin(), choices.end(), *text) == choices.end())
      note(name, *text, fmt::format("one of {}", fmt::join(choices, ", ")));
    return std::string{*text};
  }
  std::string text(std::string_view name) {
    return std::string{request_.query_value(name).value_or("")};
  }

  // Answers 400 when there were mistakes.
  bool is_refused(Responder& responder) {
    if (mistakes_.empty()) return false;
    responder.send(problem(400, "", "the query has mistakes", mistakes_));
    return true;
  }

 private:
  void note(std::string_view name, std::string_view found, std::string expected) {
    mistakes_.add({"query", 0, std::string{name}, std::string{found}, std::move(expected)});
  }
  const HttpRequest& request_;
  Diagnostics mistakes_;
};

// Two checksums and the length: equal requests have equal ones, and nobody gains by a clash but
// whoever chose both requests and the key.
std::string digest_of(std::string_view text) {
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
  return fmt::format("{:08x}{:08x}{:x}", crc32_z(0, bytes, text.size()),
                     adler32_z(1, bytes, text.size()), text.size());
}

bool is_json(const HttpRequest& request) {
  const auto type = request.headers.find("Content-Type");
  if (!type) return true;
  std::string_view name = type->substr(0, type->find(';'));
  while (name.ends_with(' ') || name.ends_with('\t')) name.remove_suffix(1);
  return transport::same_header_name(name, "application/json");
}

// The job in the body; answers and returns nothing when it is not one.
std::optional<formats::JobDocument> read_document(const HttpRequest& request,
                                                  Responder& responder) {
  if (!is_json(request)) {
    responder.send(problem(415, "", "send the job as application/json"));
    return std::nullopt;
  }
  auto document = formats::read_job_json(request.body, "body");
  if (document) return std::move(*document);
  responder.send(problem(400, "", "the job has mistakes", document.error().details));
  return std::nullopt;
}

// The one field of a request for a backup; empty when it is not one.
std::string backup_file(const std::string& body) {
  int keys = 0;
  const auto count_keys = [&](int, nlohmann::json::parse_event_t event, const nlohmann::json&) {
    keys += event == nlohmann::json::parse_event_t::key ? 1 : 0;
    return true;
  };
  const auto json = nlohmann::json::parse(body, count_keys, false);
  if (!json.is_object() || keys != 1 || !json.contains("file") || !json["file"].is_string())
    return {};
  const auto& file = json["file"].get_ref<const std::string&>();
  const bool is_path = file.starts_with('/') && file.find('\0') == std::string::npos;
  return is_path && file.size() <= formats::kLongestPath ? file : std::string{};
}

// Methods that clients make up must not fill the memory with counters.
std::string_view known_method(std::string_view method) {
  constexpr std::string_view kKnown[] = {"GET",   "HEAD",   "POST",   "PUT",
                                         "PATCH", "DELETE", "OPTIONS"};
  const auto at = std::find(std::begin(kKnown), std::end(kKnown), method);
  return at == std::end(kKnown) ? "other" : *at;
}

void append_time(nlohmann::ordered_json& json, const char* key, const std::optional<Time>& time) {
  if (time) json[key] = formats::format_time(*time);
}

// Compares all of it whatever differs, so that the time tells nothing.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return difference == 0;
}

double resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Sends the log piece by piece, as fast as the reader takes it.
class LogExport : public std::enable_shared_from_this<LogExport> {
 public:
  LogExport(EventStream stream, std::unique_ptr<StoreReader> reader)
      : stream_{std::move(stream)}, reader_{std::move(reader)} {}

  void go_on() {
    while (stream_.is_open()) {
      if (!stream_.has_room()) {
        stream_.on_drained([self = shared_from_this()] { self->go_on(); });
        return;
      }
      const auto entries = reader_->entries(after_, kEntriesAtOnce);
      if (!entries || entries->empty()) break;
      std::string lines;
      for (const RawEntry& entry : *entries) {
        after_ = entry.entry;
        lines += entry.event_line + "\n";
        for (const std::string& line : entry.record_lines) lines += line + "\n";
      }
      if (!stream_.write_bytes(lines)) return;
    }
    stream_.close();
  }

 private:
  EventStream stream_;
  std::unique_ptr<StoreReader> reader_;
  std::uint64_t after_ = 0;
};

}  // namespace

transport::HeaderList api_headers() {
  return {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
}

Result<std::unique_ptr<Api>> Api::make(ApiOptions options, Controller& controller, Store& store,
                                       Engine& engine, Metrics& metrics) {
  auto reader = StoreReader::open(options.store);
  if (!reader) return tl::unexpected<Error>(std::move(reader.error()));
  auto hub_reader = StoreReader::open(options.store);
  if (!hub_reader) return tl::unexpected<Error>(std::move(hub_reader.error()));
  return std::unique_ptr<Api>{new Api{std::move(options), controller, store, engine, metrics,
                                      std::move(*reader), std::move(*hub_reader)}};
}

Api::Api(ApiOptions options, Controller& controller, Store& store, Engine& engine, Metrics& metrics,
         std::unique_ptr<StoreReader> reader, std::unique_ptr<StoreReader> hub_reader)
    : options_{std::move(options)},
      controller_{controller},
      store_{store},
      engine_{engine},
      metrics_{metrics},
      reader_{std::move(reader)},
      hub_{std::make_shared<EventHub>(std::move(hub_reader), controller.log_end())} {
  // The loop may be in the callback when the API goes.
  controller_.on_commit([hub = hub_](LogPosition end) { hub->advance(end); });
}

Api::~Api() {
  stop();
}

void Api::stop() {
  controller_.on_commit({});
  hub_->stop();
}

transport::Router Api::router() {
  transport::Router router;
  const auto route = [&](std::string_view method, std::string_view path,
                         void (Api::*handler)(Request, Responder)) {
    router.add(method, path, [this, handler](Request request, Responder responder) {
      (this->*handler)(std::move(request), std::move(responder));
    });
  };
  route("GET", "/healthz", &Api::health);
  route("GET", "/metrics", &Api::metrics);
  route("POST", "/v1/jobs", &Api::submit);
  route("GET", "/v1/jobs", &Api::jobs);
  route("GET", "/v1/jobs/{job}", &Api::job);
  route("GET", "/v1/jobs/{job}/document", &Api::document);
  route("POST", "/v1/jobs/{job}/cancel", &Api::cancel);
  route("GET", "/v1/jobs/{job}/records", &Api::records);
  route("GET", "/v1/jobs/{job}/logs", &Api::logs);
  route("POST", "/v1/dry-run", &Api::dry_run);
  route("GET", "/v1/nodes", &Api::nodes);
  router.add("POST", "/v1/nodes/{node}/drain", [this](Request request, Responder responder) {
    change_node(std::move(request), std::move(responder), true);
  });
  router.add("POST", "/v1/nodes/{node}/undrain", [this](Request request, Responder responder) {
    change_node(std::move(request), std::move(responder), false);
  });
  route("GET", "/v1/events", &Api::events);
  route("GET", "/v1/log", &Api::log);
  route("POST", "/v1/backup", &Api::backup);
  return router;
}

std::optional<HttpResponse> Api::authorise(const Request& request) const {
  const bool is_open = request.segments.empty() ||
                       (request.segments.front() != "v1" && request.segments.front() != "metrics");
  if (is_open) return std::nullopt;
  const auto given = request.headers.find("Authorization");
  constexpr std::string_view kBearer = "Bearer ";
  if (given && transport::same_header_name(given->substr(0, kBearer.size()), kBearer) &&
      same_secret(options_.token, given->substr(kBearer.size()))) {
    return std::nullopt;
  }
  HttpResponse response = problem(
      401, "",
      given ? "this is not the server's token; it is in the file `token` of its state folder"
            : "send the server's token: `Authorization: Bearer TOKEN`; it is in the file "
              "`token` of its state folder");
  response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

void Api::note_access(const transport::AccessEntry& entry) {
  const std::string route{entry.route.empty() ? "none" : entry.route};
  metrics_
      .counter("weir_http_requests_total", "Requests answered, by route and status.",
               {{"method", std::string{known_method(entry.method)}},
                {"route", route},
                {"status", fmt::format("{}", entry.status)}})
      .add();
  metrics_
      .histogram("weir_http_request_seconds",
                 "From the first byte of a request to the last of its answer.", {{"route", route}})
      .observe(entry.seconds);
}

void Api::health(Request, Responder responder) {
  Health health = controller_.health();
  while (health.detail.ends_with('\n')) health.detail.pop_back();
  nlohmann::ordered_json json;
  json["status"] = health.is_ok ? "ok" : "unavailable";
  if (!health.detail.empty()) json["detail"] = health.detail;
  json["version"] = options_.version;
  responder.send(
      json_response(health.is_ok ? 200 : 503,
                    json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
}

void Api::metrics(Request, Responder responder) {
  {
    const std::lock_guard lock{reading_};
    if (const auto counts = reader_->count_by_phase()) {
      for (const ShownPhase phase :
           {ShownPhase::waiting, ShownPhase::queued, ShownPhase::running, ShownPhase::paused,
            ShownPhase::finished, ShownPhase::failed, ShownPhase::cancelled, ShownPhase::refused}) {
        const std::string name{to_string(phase)};
        const auto count = counts->find(name);
        metrics_.gauge("weir_jobs", "Jobs in the store, by phase.", {{"phase", name}})
            .set(count == counts->end() ? 0 : static_cast<double>(count->second));
      }
    }
  }
  metrics_.gauge("weir_store_bytes", "Size of the store.")
      .set(static_cast<double>(store_.size_bytes()));
  metrics_.gauge("weir_watchers", "Clients that follow the events.")
      .set(static_cast<double>(hub_->watchers()));
  metrics_.gauge("weir_resident_memory_bytes", "Memory of the server.").set(resident_bytes());
  metrics_.gauge("weir_healthy", "1 when work is accepted.")
      .set(controller_.health().is_ok ? 1 : 0);
  responder.send({200, "text/plain; version=0.0.4; charset=utf-8", metrics_.exposition(), {}});
}

void Api::submit(Request request, Responder responder) {
  Submission submission;
  if (const auto key = request.headers.find("Idempotency-Key")) {
    const bool is_printable =
        std::all_of(key->begin(), key->end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
    if (key->empty() || key->size() > kLongestKey || !is_printable) {
      Diagnostics mistakes;
      mistakes.add({"header", 0, "Idempotency-Key", std::string{*key},
                    fmt::format("1 to {} printable characters without spaces", kLongestKey)});
      return responder.send(problem(400, "", "the request has mistakes", mistakes));
    }
    submission.key = *key;
  }
  auto document = read_document(request, responder);
  if (!document) return;
  submission.document = std::move(*document);
  submission.json = formats::write_job_json(submission.document);
  submission.digest = digest_of(submission.json);
  auto shared = std::make_shared<Responder>(std::move(responder));
  controller_.submit(std::move(submission), [shared](SubmitAnswer answer) {
    switch (answer.kind) {
      case SubmitAnswer::Kind::accepted:
        return shared->send(json_response(201, std::move(answer.view)));
      case SubmitAnswer::Kind::repeated:
        return shared->send(json_response(200, std::move(answer.view)));
      case SubmitAnswer::Kind::refused:
        return shared->send(json_response(422, std::move(answer.view)));
      case SubmitAnswer::Kind::key_reused:
        return shared->send(problem(409, "", "the key was used for another job", answer.errors));
      case SubmitAnswer::Kind::malformed:
        return shared->send(problem(422, "", "the job cannot run here", answer.errors));
      case SubmitAnswer::Kind::unavailable:
        return shared->send(unavailable(text_of(answer.errors)));
    }
  });
}

void Api::jobs(Request request, Responder responder) {
  QueryReader query{request, {"after", "limit", "phase", "name", "order"}};
  JobQuery wanted;
  wanted.after = static_cast<std::uint64_t>(
      query.number("after", 0, 0, std::numeric_limits<std::int64_t>::max()));
  wanted.limit = static_cast<std::size_t>(query.number("limit", 100, 1, kMostJobsPerPage));
  wanted.phase = query.choice(
      "phase", "",
      {"waiting", "queued", "running", "paused", "finished", "failed", "cancelled", "refused"});
  wanted.name = query.text("name");
  wanted.newest_first = query.choice("order", "newest", {"newest", "oldest"}) == "newest";
  if (query.is_refused(responder)) return;
  if (wanted.newest_first && wanted.after == 0)
    wanted.after = std::numeric_limits<std::int64_t>::max();
  const std::lock_guard lock{reading_};
  const auto page = reader_->jobs(wanted);
  if (!page) return responder.send(store_trouble(page.error()));
  std::string body = "{\"jobs\":[";
  for (const std::string& view : page->views) {
    if (body.back() != '[') body += ",\n";
    body += view;
  }
  body += ']';
  if (page->has_more) body += fmt::format(",\"next\":{}", page->last);
  body += '}';
  responder.send(json_response(200, std::move(body)));
}

std::optional<JobId> Api::find_job(const Request& request, Responder& responder) {
  const std::string_view text = request.parameter("job");
  const std::lock_guard lock{reading_};
  if (const auto number = whole_number(text); number && *number > 0) {
    const JobId id{static_cast<std::uint64_t>(*number)};
    const auto view = reader_->job_view(id);
    if (!view) {
      responder.send(store_trouble(view.error()));
      return std::nullopt;
    }
    if (*view) return id;
  } else {
    const auto named = reader_->job_named(text);
    if (!named) {
      responder.send(store_trouble(named.error()));
      return std::nullopt;
    }
    if (*named) return **named;
  }
  responder.send(problem(
      404, "", fmt::format("there is no job \"{}\"; `weir jobs` lists them", text.substr(0, 128))));
  return std::nullopt;
}

void Api::send_job(JobId job, Responder responder) {
  const std::lock_guard lock{reading_};
  const auto view = reader_->job_view(job);
  if (!view) return responder.send(store_trouble(view.error()));
  if (!*view) return responder.send(problem(404, "", "the job is gone"));
  responder.send(json_response(200, **view));
}

void Api::job(Request request, Responder responder) {
  if (const auto job = find_job(request, responder)) send_job(*job, std::move(responder));
}

void Api::document(Request request, Responder responder) {
  const auto job = find_job(request, responder);
  if (!job) return;
  const std::lock_guard lock{reading_};
  const auto document = reader_->job_document(*job);
  if (!document) return responder.send(store_trouble(document.error()));
  if (!*document) return responder.send(problem(404, "", "the job is gone"));
  responder.send(json_response(200, **document));
}

void Api::cancel(Request request, Responder responder) {
  const auto job = find_job(request, responder);
  if (!job) return;
  auto shared = std::make_shared<Responder>(std::move(responder));
  controller_.cancel(*job, [this, shared, job = *job](const CancelAnswer& answer) {
    if (answer.is_unavailable) return shared->send(unavailable(answer.detail));
    send_job(job, std::move(*shared));
  });
}

void Api::records(Request request, Responder responder) {
  const auto job = find_job(request, responder);
  if (!job) return;
  const std::lock_guard lock{reading_};
  const auto entries = reader_->entries_of(*job, kMostEntriesOfAJob);
  if (!entries) return responder.send(store_trouble(entries.error()));
  std::string body = options_.log_header + "\n";
  for (const RawEntry& entry : *entries) {
    for (const std::string& line : entry.record_lines) body += line + "\n";
  }
  responder.send({200, "application/x-ndjson", std::move(body), {}});
}

void Api::logs(Request request, Responder responder) {
  QueryReader query{request, {"rank", "generation", "offset", "limit"}};
  LogPlace place;
  place.rank = static_cast<std::int32_t>(query.number("rank", 0, 0, 1 << 20));
  place.generation = static_cast<std::uint32_t>(
      query.number("generation", 0, 1, std::numeric_limits<std::uint32_t>::max()));
  place.offset = query.number("offset", 0, -(std::int64_t{1} << 50), std::int64_t{1} << 50);
  const auto limit = query.number("limit", 65536, 1, kMostLogBytes);
  if (query.is_refused(responder)) return;
  const auto job = find_job(request, responder);
  if (!job) return;
  place.job = *job;
  const auto chunk = engine_.read_log(place, static_cast<std::size_t>(limit));
  if (!chunk) {
    return responder.send(
        problem(404, "", "there is no such log: " + text_of(chunk.error().details)));
  }
  HttpResponse response{200, "application/octet-stream", chunk->bytes, {}};
  const auto next = chunk->offset + static_cast<std::int64_t>(chunk->bytes.size());
  response.headers.add("X-Weir-Generation", fmt::format("{}", chunk->generation));
  response.headers.add("X-Weir-Offset", fmt::format("{}", chunk->offset));
  response.headers.add("X-Weir-Next-Offset", fmt::format("{}", next));
  response.headers.add("X-Weir-Over", chunk->is_over ? "true" : "false");
  responder.send(std::move(response));
}

void Api::dry_run(Request request, Responder responder) {
  auto document = read_document(request, responder);
  if (!document) return;
  auto shared = std::make_shared<Responder>(std::move(responder));
  controller_.dry_run(std::move(*document), [shared](const Result<ShownDryRun>& answer) {
    if (!answer) {
      return shared->send(
          answer.error().code == ErrorCode::unavailable
              ? unavailable(text_of(answer.error().details))
              : problem(422, "", "the job cannot run here", answer.error().details));
    }
    const DryRunAnswer& run = answer->answer;
    const auto wall = [&](const std::optional<Time>& time) -> std::optional<Time> {
      if (!time) return std::nullopt;
      return *time + answer->wall_ahead;
    };
    constexpr const char* kAnswers[] = {"promised", "queued", "refused", "waiting"};
    nlohmann::ordered_json json;
    json["answer"] = kAnswers[static_cast<std::size_t>(run.kind)];
    json["reason"] = to_string(run.reason);
    json["reason_code"] = formats::reason_name(run.reason.code);
    append_time(json, "deadline", wall(run.deadline));
    append_time(json, "expected_start", wall(run.expected_start));
    append_time(json, "expected_finish", wall(run.expected_finish));
    append_time(json, "earliest_deadline", wall(run.earliest_deadline));
    json["replanned"] = run.replanned;
    shared->send(json_response(200, json.dump()));
  });
}

void Api::nodes(Request, Responder responder) {
  auto shared = std::make_shared<Responder>(std::move(responder));
  controller_.nodes([shared](const std::vector<NodeUse>& nodes) {
    // A cluster has nodes.
    if (nodes.empty())
      return shared->send(unavailable("the server is stopping, or cannot write its store"));
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const NodeUse& node : nodes) {
      nlohmann::ordered_json json;
      json["name"] = node.name;
      json["pool"] = node.pool;
      if (!node.model.empty()) json["model"] = node.model;
      json["gpus"] = node.gpus;
      json["up"] = node.is_up;
      std::size_t in_use = 0;
      auto users = nlohmann::ordered_json::array();
      for (const NodeUse::User& user : node.users) {
        in_use += user.gpus.size();
        users.push_back({{"id", user.job.value}, {"name", user.name}, {"gpus", user.gpus}});
      }
      json["in_use"] = in_use;
      json["jobs"] = std::move(users);
      all.push_back(std::move(json));
    }
    shared->send(json_response(200, nlohmann::ordered_json{{"nodes", std::move(all)}}.dump()));
  });
}

void Api::change_node(Request request, Responder responder, bool is_drain) {
  const std::string name{request.parameter("node")};
  const auto node = controller_.node_named(name);
  if (!node) {
    return responder.send(
        problem(404, "", fmt::format("there is no node \"{}\"; `weir nodes` lists them", name)));
  }
  auto shared = std::make_shared<Responder>(std::move(responder));
  const auto answer = [shared, name](const NodeAnswer& done) {
    if (done.is_unavailable) return shared->send(unavailable("the decision could not be stored"));
    nlohmann::ordered_json json;
    json["node"] = name;
    json["changed"] = done.changed;
    auto at_risk = nlohmann::ordered_json::array();
    for (const JobId job : done.at_risk) at_risk.push_back(job.value);
    json["at_risk"] = std::move(at_risk);
    shared->send(json_response(200, json.dump()));
  };
  is_drain ? controller_.drain(*node, answer) : controller_.undrain(*node, answer);
}

void Api::events(Request request, Responder responder) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  QueryReader query{request, {"after", "job"}};
  auto after = query.number("after", -1, 0, kMost);
  const auto job = query.number("job", 0, 1, kMost);
  if (query.is_refused(responder)) return;
  if (const auto last = request.headers.find("Last-Event-ID")) {
    const auto number = whole_number(*last);
    if (!number || *number < 0) {
      return responder.send(
          problem(400, "", "Last-Event-ID is not the number of a record: a whole number"));
    }
    after = *number;
  }
  const auto start = after < 0 ? hub_->end().record : static_cast<std::uint64_t>(after);
  std::optional<JobId> only;
  if (job > 0) only = JobId{static_cast<std::uint64_t>(job)};
  hub_->watch(responder.stream(transport::event_stream_head()), start, only);
}

void Api::log(Request, Responder responder) {
  auto reader = StoreReader::open(options_.store);
  if (!reader) return responder.send(store_trouble(reader.error()));
  EventStream stream =
      responder.stream({200, "application/x-ndjson", options_.log_header + "\n", {}});
  std::make_shared<LogExport>(std::move(stream), std::move(*reader))->go_on();
}

void Api::backup(Request request, Responder responder) {
  if (!is_json(request)) {
    return responder.send(problem(415, "", "send the name of the file as application/json"));
  }
  const std::string file = backup_file(request.body);
  if (file.empty()) {
    Diagnostics mistakes;
    mistakes.add({"body", 0, "file", "", "an absolute path that does not exist yet"});
    return responder.send(
        problem(400, "", R"(send {"file": "/path/on/the/server"} and nothing else)", mistakes));
  }
  auto shared = std::make_shared<Responder>(std::move(responder));
  controller_.backup(file, [shared, file](const Result<void>& done) {
    if (!done) {
      const bool is_theirs = done.error().code == ErrorCode::bad_input;
      return shared->send(problem(is_theirs ? 409 : 503, "", text_of(done.error().details)));
    }
    std::error_code ignored;
    nlohmann::ordered_json json;
    json["file"] = file;
    json["bytes"] = std::filesystem::file_size(file, ignored);
    shared->send(json_response(200, json.dump()));
  });
}

}  // namespace weir::control
