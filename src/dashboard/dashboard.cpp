// SPDX-License-Identifier: Apache-2.0
#include "dashboard/dashboard.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "dashboard/accepted_encoding.h"
#include "dashboard/embedded_page.h"
#include "dashboard/entity_tag.h"
#include "dashboard/notice_source.h"

namespace weir::dashboard {
namespace {

using transport::HeaderList;
using transport::HttpRequest;
using transport::HttpResponse;
using transport::Responder;

// The page draws all of these itself, and finds out which one it is from the address.
constexpr std::string_view kViews[] = {
    "/",       "/jobs",        "/jobs/{job}", "/cluster", "/cluster/{node}",
    "/submit", "/simulations", "/sign-in"};
constexpr std::string_view kIndex = "/index.html";
constexpr std::string_view kAssets = "/assets/";

// Its name changes with its content, so it is loaded once.
constexpr std::string_view kKeptForEver = "public, max-age=31536000, immutable";
// Kept, and asked for each time whether it is still the same.
constexpr std::string_view kAskedAgain = "no-cache";

// The page runs its own code only, talks to this server only, and is shown in no other page.
HeaderList headers_of_all() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
           "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"X-Frame-Options", "DENY"}};
}

// Each form of a file is an entity of its own.
HttpResponse answer_with(const PageFile& file, const HttpRequest& request) {
  const bool is_gzip = !file.gzip.empty() && accepts_gzip(request.headers);
  const std::string entity_tag = fmt::format("\"{}{}\"", file.tag, is_gzip ? "-gzip" : "");
  HttpResponse response{200, std::string{file.media_type}, "", headers_of_all()};
  response.headers.add("ETag", entity_tag);
  response.headers.add("Cache-Control",
                       std::string{file.path.starts_with(kAssets) ? kKeptForEver : kAskedAgain});
  response.headers.add("Vary", "Accept-Encoding");
  if (has_entity(request.headers, entity_tag)) {
    response.status = 304;
    return response;
  }
  if (is_gzip) response.headers.add("Content-Encoding", "gzip");
  response.body = is_gzip ? file.gzip : file.plain;
  return response;
}

HttpResponse notice() {
  HttpResponse response{200, "text/html; charset=utf-8", std::string{kNotice}, headers_of_all()};
  response.headers.add("Cache-Control", "no-store");
  return response;
}

HttpResponse no_such_asset(const HttpRequest& request) {
  HttpResponse response = transport::problem(
      404, "",
      fmt::format("the page has no file {}; load the page again", request.parameter("file")));
  for (const auto& [name, value] : headers_of_all()) response.headers.add(name, value);
  response.headers.add("Cache-Control", "no-store");
  return response;
}

const PageFile* find_file(std::span<const PageFile> files, std::string_view path) {
  for (const PageFile& file : files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

void add_file(transport::Router& router, std::string_view path, const PageFile& file) {
  router.add("GET", path, [&file](const HttpRequest& request, Responder responder) {
    responder.send(answer_with(file, request));
  });
}

void add_views(transport::Router& router, const PageFile* index) {
  for (const std::string_view view : kViews) {
    if (index != nullptr) {
      add_file(router, view, *index);
    } else {
      router.add("GET", view,
                 [](const HttpRequest&, Responder responder) { responder.send(notice()); });
    }
  }
}

}  // namespace

void add_dashboard(transport::Router& router) {
  add_dashboard(router, embedded_page());
}

void add_dashboard(transport::Router& router, std::span<const PageFile> files) {
  add_views(router, find_file(files, kIndex));
  for (const PageFile& file : files) {
    const bool is_beside_index = file.path != kIndex && !file.path.starts_with(kAssets);
    if (is_beside_index) add_file(router, file.path, file);
  }
  router.add("GET", "/assets/{file}", [files](const HttpRequest& request, Responder responder) {
    const std::string path = std::string{kAssets} + std::string{request.parameter("file")};
    const PageFile* file = find_file(files, path);
    responder.send(file != nullptr ? answer_with(*file, request) : no_such_asset(request));
  });
}

}  // namespace weir::dashboard
