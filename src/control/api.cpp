// SPDX-License-Identifier: Apache-2.0
#include "control/api.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "control/api_access.h"
#include "control/api_replies.h"
#include "control/query_reader.h"
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
constexpr std::size_t kMostEntriesOfAJob = 20'000;
constexpr std::int64_t kMostEarlierRecords = 10'000;
constexpr std::int64_t kMostJobsPerPage = 1000;
constexpr std::int64_t kMostLogBytes = 1 << 20;

// Two checksums and the length: equal requests have equal ones, and nobody gains by a clash but
// whoever chose both requests and the key.
std::string digest_of(std::string_view text) {
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
  return fmt::format("{:08x}{:08x}{:x}", crc32_z(0, bytes, text.size()),
                     adler32_z(1, bytes, text.size()), text.size());
}

Result<formats::JobDocument> read_yaml_body(std::string_view body) {
  auto input = yaml_body(body, "at most 256 KiB of YAML, or the job as JSON");
  if (!input) return tl::unexpected<Error>(std::move(input.error()));
  return formats::read_one_job_yaml(std::move(*input));
}

// The job in the body; answers and returns nothing when it is not one.
std::optional<formats::JobDocument> read_document(const HttpRequest& request,
                                                  Responder& responder) {
  const bool is_yaml = is_of_type(request, {"application/yaml", "application/x-yaml", "text/yaml"});
  if (!is_yaml && !is_json_body(request)) {
    responder.send(problem(415, "", "send the job as application/json or application/yaml"));
    return std::nullopt;
  }
  auto document =
      is_yaml ? read_yaml_body(request.body) : formats::read_job_json(request.body, "body");
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

Result<std::unique_ptr<Api>> Api::make(ApiOptions options, LiveLoop& loop, Store& store,
                                       Engine* engine, Metrics& metrics) {
  auto reader = StoreReader::open(options.store);
  if (!reader) return tl::unexpected<Error>(std::move(reader.error()));
  auto hub_reader = StoreReader::open(options.store);
  if (!hub_reader) return tl::unexpected<Error>(std::move(hub_reader.error()));
  auto story_reader = StoreReader::open(options.store);
  if (!story_reader) return tl::unexpected<Error>(std::move(story_reader.error()));
  auto tokens =
      AccessTokens::open(options.tokens_file, options.token, [&loop] { return loop.wall_time(); });
  if (!tokens) return tl::unexpected<Error>(std::move(tokens.error()));
  return std::unique_ptr<Api>{new Api{std::move(options), loop, store, engine, metrics,
                                      std::move(*reader), std::move(*hub_reader),
                                      std::move(*story_reader), std::move(*tokens)}};
}

Api::Api(ApiOptions options, LiveLoop& loop, Store& store, Engine* engine, Metrics& metrics,
         std::unique_ptr<StoreReader> reader, std::unique_ptr<StoreReader> hub_reader,
         std::unique_ptr<StoreReader> story_reader, std::unique_ptr<AccessTokens> tokens)
    : options_{std::move(options)},
      loop_{loop},
      store_{store},
      engine_{engine},
      metrics_{metrics},
      tokens_{std::move(tokens)},
      reading_{std::make_shared<Reading>()},
      hub_{std::make_shared<EventHub>(std::move(hub_reader), loop.log_end())},
      story_reader_{std::move(story_reader)} {
  reading_->reader = std::move(reader);
  // The loop may be in the callback when the API goes.
  loop_.on_commit([hub = hub_](LogPosition end) { hub->advance(end); });
}

Api::~Api() {
  stop();
}

void Api::stop() {
  loop_.on_commit({});
  stories_.stop();
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
  route("GET", "/v1/jobs/{job}/story", &Api::story);
  route("GET", "/v1/jobs/{job}/progress", &Api::progress);
  route("GET", "/v1/jobs/{job}/logs", &Api::logs);
  route("POST", "/v1/dry-run", &Api::dry_run);
  route("POST", "/v1/what-if", &Api::what_if);
  route("GET", "/v1/jobs/{job}/counterfactuals", &Api::counterfactuals);
  route("GET", "/v1/overview", &Api::overview);
  route("GET", "/v1/history", &Api::history);
  route("GET", "/v1/observation", &Api::observation);
  route("GET", "/v1/nodes", &Api::nodes);
  router.add("POST", "/v1/nodes/{node}/drain", [this](Request request, Responder responder) {
    change_node(std::move(request), std::move(responder), true);
  });
  router.add("POST", "/v1/nodes/{node}/undrain", [this](Request request, Responder responder) {
    change_node(std::move(request), std::move(responder), false);
  });
  route("GET", "/v1/tenants", &Api::tenants);
  route("PUT", "/v1/tenants", &Api::change_tenants);
  route("GET", "/v1/energy", &Api::energy);
  route("GET", "/v1/events", &Api::events);
  route("GET", "/v1/log", &Api::log);
  route("POST", "/v1/backup", &Api::backup);
  route("GET", "/v1/whoami", &Api::whoami);
  route("GET", "/v1/tokens", &Api::tokens);
  route("POST", "/v1/tokens", &Api::create_token);
  route("POST", "/v1/tokens/{token}/revoke", &Api::revoke_token);
  return router;
}

void Api::note_access(const transport::AccessEntry& entry) {
  const bool is_api = entry.path.starts_with("/v1") || entry.path.starts_with("/metrics");
  if (options_.audit && (is_api || entry.status >= 400)) {
    AuditEntry line;
    line.at = loop_.wall_time();
    line.address = entry.peer;
    if (entry.caller != nullptr) {
      line.token = entry.caller->name();
      line.role = entry.caller->role();
    }
    line.method = entry.method;
    line.path = entry.path;
    line.status = entry.status;
    options_.audit->add(line);
  }
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
  Health health = loop_.health();
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
    const std::lock_guard lock{reading_->mutex};
    if (const auto counts = reading_->reader->count_by_phase()) {
      for (const ShownPhase phase : kAllPhases) {
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
  if (options_.refresh_metrics) options_.refresh_metrics();
  metrics_.gauge("weir_healthy", "1 when work is accepted.").set(loop_.health().is_ok ? 1 : 0);
  responder.send({200, "text/plain; version=0.0.4; charset=utf-8", metrics_.exposition(), {}});
}

bool Api::is_only_observing(Responder& responder) const {
  if (!loop_.is_observing()) return false;
  responder.send(problem(403, "", "this server only observes: it changes nothing in the cluster"));
  return true;
}

void Api::observation(Request, Responder responder) {
  if (!loop_.is_observing()) {
    return responder.send(problem(
        404, "", "this server schedules itself; `weir serve --engine kubernetes` observes others"));
  }
  auto json = loop_.observation();
  if (!json) return responder.send(unavailable("the first look at the cluster is not complete"));
  responder.send(json_response(200, std::move(*json)));
}

void Api::submit(Request request, Responder responder) {
  if (is_only_observing(responder)) return;
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
  if (!claim(request, *document, responder)) return;
  // Tenants share no keys: nobody can take another's, or learn that it is used.
  if (const auto* caller = caller_of(request); !submission.key.empty() && !caller->tenant().empty())
    submission.key = caller->tenant() + " " + submission.key;
  submission.document = std::move(*document);
  submission.json = formats::write_job_json(submission.document);
  submission.digest = digest_of(submission.json);
  auto shared = std::make_shared<Responder>(std::move(responder));
  loop_.submit(std::move(submission), [shared](SubmitAnswer answer) {
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
  QueryReader query{request, {"after", "limit", "phase", "name", "order", "changed_after"}};
  JobQuery wanted;
  wanted.after = static_cast<std::uint64_t>(
      query.number("after", 0, 0, std::numeric_limits<std::int64_t>::max()));
  wanted.limit = static_cast<std::size_t>(query.number("limit", 100, 1, kMostJobsPerPage));
  wanted.phase = query.choice(
      "phase", "",
      {"waiting", "queued", "running", "paused", "finished", "failed", "cancelled", "refused"});
  wanted.name = query.text("name");
  wanted.newest_first = query.choice("order", "newest", {"newest", "oldest"}) == "newest";
  query.refuse_beside("changed_after", {"after", "phase", "name", "order"});
  if (query.has("changed_after")) {
    wanted.changed_after = static_cast<std::uint64_t>(
        query.number("changed_after", 0, 0, std::numeric_limits<std::int64_t>::max()));
  }
  if (query.is_refused(responder)) return;
  if (wanted.newest_first && wanted.after == 0)
    wanted.after = std::numeric_limits<std::int64_t>::max();
  const std::lock_guard lock{reading_->mutex};
  const auto page = reading_->reader->jobs(wanted);
  if (!page) return responder.send(store_trouble(page.error()));
  std::string body = "{\"jobs\":[";
  for (const std::string& view : page->views) {
    if (body.back() != '[') body += ",\n";
    body += view;
  }
  body += ']';
  if (page->has_more) body += fmt::format(",\"next\":{}", page->last);
  body += fmt::format(",\"revision\":{}}}", page->revision);
  responder.send(json_response(200, std::move(body)));
}

std::optional<JobId> Api::find_job(const Request& request, Responder& responder) {
  const std::string_view text = request.parameter("job");
  const std::lock_guard lock{reading_->mutex};
  if (const auto number = whole_number(text); number && *number > 0) {
    const JobId id{static_cast<std::uint64_t>(*number)};
    const auto view = reading_->reader->job_view(id);
    if (!view) {
      responder.send(store_trouble(view.error()));
      return std::nullopt;
    }
    if (*view) return id;
  } else {
    const auto named = own_job_named(request, text);
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

void Api::send_job(Reading& reading, JobId job, Responder responder) {
  const std::lock_guard lock{reading.mutex};
  const auto view = reading.reader->job_view(job);
  if (!view) return responder.send(store_trouble(view.error()));
  if (!*view) return responder.send(problem(404, "", "the job is gone"));
  responder.send(json_response(200, **view));
}

void Api::job(Request request, Responder responder) {
  if (const auto job = find_job(request, responder))
    send_job(*reading_, *job, std::move(responder));
}

void Api::document(Request request, Responder responder) {
  const auto job = find_own_job(request, responder);
  if (!job) return;
  const std::lock_guard lock{reading_->mutex};
  const auto document = reading_->reader->job_document(*job);
  if (!document) return responder.send(store_trouble(document.error()));
  if (!*document) return responder.send(problem(404, "", "the job is gone"));
  responder.send(json_response(200, **document));
}

void Api::cancel(Request request, Responder responder) {
  if (is_only_observing(responder)) return;
  const auto job = find_own_job(request, responder);
  if (!job) return;
  auto shared = std::make_shared<Responder>(std::move(responder));
  loop_.cancel(*job, [reading = reading_, shared, job = *job](const CancelAnswer& answer) {
    if (answer.is_unavailable) return shared->send(unavailable(answer.detail));
    send_job(*reading, job, std::move(*shared));
  });
}

void Api::records(Request request, Responder responder) {
  const auto job = find_job(request, responder);
  if (!job) return;
  const std::lock_guard lock{reading_->mutex};
  auto lines = records_of(*reading_->reader, *job);
  if (!lines) return responder.send(store_trouble(lines.error()));
  responder.send({200, "application/x-ndjson", std::move(*lines), {}});
}

Result<std::string> Api::records_of(StoreReader& reader, JobId job) {
  const auto entries = reader.entries_of(job, kMostEntriesOfAJob);
  if (!entries) return tl::unexpected<Error>(entries.error());
  std::string lines = options_.log_header + "\n";
  for (const RawEntry& entry : *entries) {
    for (const std::string& line : entry.record_lines) lines += line + "\n";
  }
  return lines;
}

// On a thread of its own: a long story takes a while to read.
void Api::story(Request request, Responder responder) {
  const auto job = find_job(request, responder);
  if (!job) return;
  auto shared = std::make_shared<Responder>(std::move(responder));
  const bool is_accepted =
      stories_.post([this, shared, job = *job] { shared->send(tell_story(job)); });
  if (!is_accepted) shared->send(unavailable("too many stories are asked for at once"));
}

HttpResponse Api::tell_story(JobId job) {
  const auto view = story_reader_->job_view(job);
  if (!view) return store_trouble(view.error());
  if (!*view) return problem(404, "", "the job is gone");
  const auto records = records_of(*story_reader_, job);
  if (!records) return store_trouble(records.error());
  if (!options_.story) return problem(501, "", "this server tells no stories");
  auto story = options_.story(**view, *records);
  if (!story) return unavailable(text_of(story.error().details));
  if (!*story) {
    return problem(404, "",
                   fmt::format("how job {} began is forgotten, so there is no story of it; `weir "
                               "serve --keep` says how long it is kept",
                               job.value));
  }
  return json_response(200, std::move(**story));
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
  const auto job = find_own_job(request, responder);
  if (!job) return;
  place.job = *job;
  if (engine_ == nullptr)
    return responder.send(
        problem(404, "", "this server only observes; the cluster's own tools show logs"));
  const auto chunk = engine_->read_log(place, static_cast<std::size_t>(limit));
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
  if (is_only_observing(responder)) return;
  auto document = read_document(request, responder);
  if (!document || !claim(request, *document, responder)) return;
  auto shared = std::make_shared<Responder>(std::move(responder));
  loop_.dry_run(std::move(*document), [shared](const Result<ShownDryRun>& answer) {
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
  loop_.nodes([&loop = loop_, shared](const std::vector<NodeUse>& nodes) {
    // A cluster has nodes.
    if (nodes.empty() && !loop.is_observing())
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
  if (is_only_observing(responder)) return;
  const std::string name{request.parameter("node")};
  const auto node = loop_.node_named(name);
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
  is_drain ? loop_.drain(*node, answer) : loop_.undrain(*node, answer);
}

void Api::events(Request request, Responder responder) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  QueryReader query{request, {"after", "last", "job"}};
  auto after = query.number("after", -1, 0, kMost);
  const auto last_records = query.number("last", 0, 0, kMostEarlierRecords);
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
  const std::uint64_t end = hub_->end().record;
  const std::uint64_t start = after >= 0
                                  ? static_cast<std::uint64_t>(after)
                                  : end - std::min(end, static_cast<std::uint64_t>(last_records));
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
  if (!is_json_body(request)) {
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
  loop_.backup(file, [shared, file](const Result<void>& done) {
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
