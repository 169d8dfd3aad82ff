// SPDX-License-Identifier: Apache-2.0
//
// The API of docs/openapi.yaml: requests to the controller and the store, answers as JSON. authorise() sees every
// request first and decides by token and role (access.h); what depends on a job's tenant is decided where the job is
// found.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "control/access.h"
#include "control/audit_log.h"
#include "control/event_hub.h"
#include "control/live_loop.h"
#include "control/metrics.h"
#include "control/store.h"
#include "control/worker_thread.h"
#include "domain/engine.h"
#include "transport/http_server.h"
#include "transport/router.h"

namespace weir::control {

// A job's story as the API gives it (docs/openapi.yaml, Story), from its view and its records: lines
// as of a log, with a header. Nothing when the records do not tell how the job began.
using StoryTeller = std::function<Result<std::optional<std::string>>(std::string_view view,
                                                                     std::string_view records)>;

struct ApiOptions {
  std::string token;                     // opens everything
  std::filesystem::path tokens_file;     // those made later; empty: in memory only
  transport::RateLimit rate_per_tenant;  // and for each viewer without one; more: 429
  std::shared_ptr<AuditLog> audit;       // null: nobody notes who asked for what
  std::string version;
  std::string log_header;  // the first line of exported logs, without its newline
  StoreOptions store;      // for readers of its own
  StoryTeller story;
  std::function<void()> refresh_metrics;  // before they are told; may be empty
};

// For HttpServerOptions: answers are kept by nobody, and are taken for what they say they are.
transport::HeaderList api_headers();

class Api {
 public:
  // Requires: all of them outlive the API, and the server stops before it goes. Without an engine there are no logs.
  static Result<std::unique_ptr<Api>> make(ApiOptions options, LiveLoop& loop, Store& store,
                                           Engine* engine, Metrics& metrics);
  ~Api();

  transport::Router router();
  // For HttpServerOptions: who may do what, and what was done. What is neither under /v1 nor /metrics tells no secret
  // and needs no token: whether the server is well, and the dashboard's page. Fills in the caller.
  std::optional<transport::HttpResponse> authorise(transport::HttpRequest& request) const;
  void note_access(const transport::AccessEntry& entry);

  // Ends streams.
  void stop();

 private:
  using Request = transport::HttpRequest;
  using Responder = transport::Responder;

  // What requests read the store with, one at a time. Callbacks of the loop hold this and not the API, which may be
  // gone when they run.
  struct Reading {
    std::mutex mutex;
    std::unique_ptr<StoreReader> reader;
  };

  Api(ApiOptions options, LiveLoop& loop, Store& store, Engine* engine, Metrics& metrics,
      std::unique_ptr<StoreReader> reader, std::unique_ptr<StoreReader> hub_reader,
      std::unique_ptr<StoreReader> story_reader, std::unique_ptr<AccessTokens> tokens);

  void health(Request request, Responder responder);
  void metrics(Request request, Responder responder);
  void submit(Request request, Responder responder);
  void jobs(Request request, Responder responder);
  void job(Request request, Responder responder);
  void document(Request request, Responder responder);
  void cancel(Request request, Responder responder);
  void records(Request request, Responder responder);
  void story(Request request, Responder responder);
  void progress(Request request, Responder responder);
  void logs(Request request, Responder responder);
  void dry_run(Request request, Responder responder);
  void what_if(Request request, Responder responder);
  void counterfactuals(Request request, Responder responder);
  void overview(Request request, Responder responder);
  void history(Request request, Responder responder);
  void nodes(Request request, Responder responder);
  void change_node(Request request, Responder responder, bool is_drain);
  void events(Request request, Responder responder);
  void log(Request request, Responder responder);
  void backup(Request request, Responder responder);

  void observation(Request request, Responder responder);
  void tenants(Request request, Responder responder);
  void change_tenants(Request request, Responder responder);
  void energy(Request request, Responder responder);
  void whoami(Request request, Responder responder);
  void tokens(Request request, Responder responder);
  void create_token(Request request, Responder responder);
  void revoke_token(Request request, Responder responder);

  // Answers 403 when this server only watches.
  bool is_only_observing(Responder& responder) const;
  // The job the path names; answers 404 and returns nothing when there is none. Of several of that name the
  // latest, but one of the caller's tenant before others.
  std::optional<JobId> find_job(const Request& request, Responder& responder);
  // The same, if the caller may see what is inside or change it; answers 403 otherwise.
  std::optional<JobId> find_own_job(const Request& request, Responder& responder);
  // Seconds to wait, or 0.
  long seconds_to_wait(const AccessCaller& caller) const;
  // The latest job of that name and of the caller's tenant.
  Result<std::optional<JobId>> own_job_named(const Request& request, std::string_view name);
  static void send_job(Reading& reading, JobId job, Responder responder);
  // The log's header, and the job's records, a line each.
  Result<std::string> records_of(StoreReader& reader, JobId job);
  transport::HttpResponse tell_story(JobId job);

  ApiOptions options_;
  LiveLoop& loop_;
  Store& store_;
  Engine* engine_;  // null: nobody has logs
  Metrics& metrics_;
  std::unique_ptr<AccessTokens> tokens_;
  mutable std::mutex counting_;
  mutable std::map<std::string, transport::TokenBucket> rates_;  // by tenant, or a viewer's token
  std::shared_ptr<Reading> reading_;
  std::shared_ptr<EventHub> hub_;
  std::unique_ptr<StoreReader> story_reader_;  // of the thread below: long stories hold up nobody
  WorkerThread stories_;                       // last: it uses the rest
};

}  // namespace weir::control
