// SPDX-License-Identifier: Apache-2.0
//
// The API of docs/openapi.yaml: requests to the controller and the store, answers as JSON. One bootstrap
// token opens everything; roles and tenants will be decided in authorise(), which sees every request.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

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
  std::string token;
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
  // and needs no token: whether the server is well, and the dashboard's page.
  std::optional<transport::HttpResponse> authorise(const transport::HttpRequest& request) const;
  void note_access(const transport::AccessEntry& entry);

  // Ends streams.
  void stop();

 private:
  using Request = transport::HttpRequest;
  using Responder = transport::Responder;

  Api(ApiOptions options, LiveLoop& loop, Store& store, Engine* engine, Metrics& metrics,
      std::unique_ptr<StoreReader> reader, std::unique_ptr<StoreReader> hub_reader,
      std::unique_ptr<StoreReader> story_reader);

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
  void overview(Request request, Responder responder);
  void history(Request request, Responder responder);
  void nodes(Request request, Responder responder);
  void change_node(Request request, Responder responder, bool is_drain);
  void events(Request request, Responder responder);
  void log(Request request, Responder responder);
  void backup(Request request, Responder responder);

  void observation(Request request, Responder responder);

  // Answers 403 when this server only watches.
  bool is_only_observing(Responder& responder) const;
  // The job the path names; answers 404 and returns nothing when there is none.
  std::optional<JobId> find_job(const Request& request, Responder& responder);
  void send_job(JobId job, Responder responder);
  // The log's header, and the job's records, a line each.
  Result<std::string> records_of(StoreReader& reader, JobId job);
  transport::HttpResponse tell_story(JobId job);

  ApiOptions options_;
  LiveLoop& loop_;
  Store& store_;
  Engine* engine_;  // null: nobody has logs
  Metrics& metrics_;
  std::mutex reading_;
  std::unique_ptr<StoreReader> reader_;
  std::shared_ptr<EventHub> hub_;
  std::unique_ptr<StoreReader> story_reader_;  // of the thread below: long stories hold up nobody
  WorkerThread stories_;                       // last: it uses the rest
};

}  // namespace weir::control
