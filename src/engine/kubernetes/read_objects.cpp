// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/read_objects.h"

#include <fmt/format.h>

#include <utility>

#include "engine/kubernetes/json_fields.h"
#include "engine/kubernetes/read_cluster_objects.h"
#include "engine/kubernetes/read_pod.h"
#include "engine/kubernetes/read_workload.h"
#include "formats/json_string.h"

namespace weir::engine::kubernetes {
namespace {

using simdjson::dom::element;

template <class Object>
AnyObject shared(Object object) {
  return std::make_shared<const Object>(std::move(object));
}

AnyObject read_any(ResourceKind kind, const JsonFields& from) {
  switch (kind) {
    case ResourceKind::nodes:
      return shared(read_node(from));
    case ResourceKind::pods:
      return shared(read_pod(from));
    case ResourceKind::jobs:
      return shared(read_job(from));
    case ResourceKind::job_sets:
      return shared(read_job_set(from));
    case ResourceKind::pod_groups:
    case ResourceKind::volcano_pod_groups:
      return shared(read_pod_group(from));
    case ResourceKind::kueue_workloads:
      return shared(read_kueue_workload(from));
    case ResourceKind::quotas:
      return shared(read_quota(from));
    case ResourceKind::priority_classes:
      return shared(read_priority_class(from));
    case ResourceKind::namespaces:
      return shared(read_namespace(from));
    case ResourceKind::volume_claims:
      return shared(read_volume_claim(from));
    case ResourceKind::volumes:
      return shared(read_volume(from));
    case ResourceKind::storage_classes:
      return shared(read_storage_class(from));
  }
  return {};
}

// Name and version, also of an object that is wrong elsewhere.
struct Identity {
  std::string key;
  std::string version;
};
Identity identity_of(element object) {
  FieldMistake ignored;
  const JsonFields meta = JsonFields{object, ignored}.object("metadata");
  const std::string ns = meta.text("namespace");
  const std::string name = meta.text("name");
  return {ns.empty() ? name : ns + "/" + name, meta.text("resourceVersion")};
}

// None: `mistake` says why.
AnyObject read_one(ResourceKind kind, element from, std::string& mistake) {
  FieldMistake field;
  AnyObject object = read_any(kind, JsonFields{from, field});
  if (field.text.empty()) return object;
  mistake = fmt::format("{} {}: {}", info_of(kind).name, identity_of(from).key, field.text);
  return {};
}

std::optional<WatchEventType> type_named(std::string_view name) {
  if (name == "ADDED") return WatchEventType::added;
  if (name == "MODIFIED") return WatchEventType::modified;
  if (name == "DELETED") return WatchEventType::deleted;
  if (name == "BOOKMARK") return WatchEventType::bookmark;
  if (name == "ERROR") return WatchEventType::error;
  return std::nullopt;
}

ServerStatus status_from(element from) {
  FieldMistake ignored;
  const JsonFields fields{from, ignored};
  return {fields.integer<std::int32_t>("code").value_or(0), fields.text("reason"),
          fields.text("message")};
}

JsonResult<element> parsed(simdjson::dom::parser& parser, std::string_view json) {
  element document;
  const auto error = parser.parse(json.data(), json.size()).get(document);
  if (error != simdjson::SUCCESS) {
    return tl::unexpected(fmt::format("not JSON: {}", simdjson::error_message(error)));
  }
  return document;
}

// One line for a message, whatever the server sent.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, std::min<std::size_t>(text.size(), 300))) {
    line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

std::string_view to_string(WatchEventType type) {
  switch (type) {
    case WatchEventType::added:
      return "added";
    case WatchEventType::modified:
      return "modified";
    case WatchEventType::deleted:
      return "deleted";
    case WatchEventType::bookmark:
      return "bookmark";
    case WatchEventType::error:
      break;
  }
  return "error";
}

class ObjectReader::Impl {
 public:
  explicit Impl(ResourceKind kind) : kind_{kind} {}

  JsonResult<ObjectPage> page(std::string_view json) const {
    simdjson::dom::parser parser;  // its buffers are as large as the page: not to be kept
    const auto document = parsed(parser, json);
    if (!document) return tl::unexpected(document.error());
    FieldMistake mistake;
    const JsonFields list{*document, mistake};
    const JsonFields meta = list.object("metadata");
    ObjectPage page;
    page.version = meta.text("resourceVersion");
    page.continue_token = meta.text("continue");
    if (mistake.text.empty() && page.version.empty()) {
      meta.reject("resourceVersion", "missing", "the version of the list");
    }
    if (!mistake.text.empty()) return tl::unexpected(mistake.text);
    simdjson::dom::array items;
    const auto found = (*document)["items"];
    if (found.error() == simdjson::SUCCESS && !found.is_null() &&
        found.get(items) != simdjson::SUCCESS) {
      return tl::unexpected(std::string{"items is no list"});
    }
    if (found.error() == simdjson::SUCCESS && !found.is_null()) read_items(items, page);
    return page;
  }

  JsonResult<WatchEvent> event(std::string_view json) {
    const auto document = parsed(parser_, json);
    if (!document) return tl::unexpected(document.error());
    FieldMistake mistake;
    const JsonFields fields{*document, mistake};
    const auto type = type_named(fields.view("type"));
    element object;
    if (!type || (*document)["object"].get(object) != simdjson::SUCCESS) {
      return tl::unexpected(fmt::format("no event of a watch, but {}", one_line(json)));
    }
    WatchEvent event;
    event.type = *type;
    if (event.type == WatchEventType::error) {
      event.status = status_from(object);
      return event;
    }
    Identity identity = identity_of(object);
    event.version = std::move(identity.version);
    if (event.type == WatchEventType::bookmark) return event;
    event.key = std::move(identity.key);
    event.object = read_one(kind_, object, event.mistake);
    return event;
  }

 private:
  void read_items(simdjson::dom::array items, ObjectPage& page) const {
    for (const element item : items) {
      std::string mistake;
      AnyObject object = read_one(kind_, item, mistake);
      if (mistake.empty()) {
        page.objects.push_back(std::move(object));
      } else {
        if (page.mistakes++ == 0) page.mistake = std::move(mistake);
      }
    }
  }

  ResourceKind kind_;
  simdjson::dom::parser parser_;  // of events
};

ObjectReader::ObjectReader(ResourceKind kind) : impl_{std::make_unique<Impl>(kind)} {}
ObjectReader::~ObjectReader() = default;
ObjectReader::ObjectReader(ObjectReader&&) noexcept = default;
ObjectReader& ObjectReader::operator=(ObjectReader&&) noexcept = default;

JsonResult<ObjectPage> ObjectReader::page(std::string_view json) {
  return impl_->page(json);
}

JsonResult<WatchEvent> ObjectReader::event(std::string_view json) {
  return impl_->event(json);
}

JsonResult<std::vector<std::string>> read_resource_names(std::string_view json) {
  simdjson::dom::parser parser;
  const auto document = parsed(parser, json);
  if (!document) return tl::unexpected(document.error());
  FieldMistake mistake;
  std::vector<std::string> names;
  for (const JsonFields& resource : JsonFields{*document, mistake}.objects("resources")) {
    names.push_back(resource.text("name"));
  }
  if (!mistake.text.empty()) return tl::unexpected(mistake.text);
  return names;
}

ServerStatus read_status(std::string_view json) {
  simdjson::dom::parser parser;
  ServerStatus status;
  if (const auto document = parsed(parser, json)) status = status_from(*document);
  status.message = one_line(status.message.empty() ? json : status.message);
  return status;
}

}  // namespace weir::engine::kubernetes
