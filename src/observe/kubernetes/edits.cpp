// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/edits.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "observe/kubernetes/cluster_model.h"
#include "observe/kubernetes/matching.h"

namespace weir::observe {
namespace {

using SortedJson = nlohmann::json;

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string kubectl(const ObjectName& object) {
  return object.ns.empty() ? "kubectl" : "kubectl -n " + object.ns;
}

std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return all + "'";
}

// What the server wrote into a job and does not accept in a new one.
SortedJson job_leftovers() {
  SortedJson steps = SortedJson::array();
  for (const auto* path : {"/spec/selector", "/spec/template/metadata/labels/controller-uid",
                           "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid"}) {
    steps.push_back({{"op", "remove"}, {"path", path}});
  }
  return steps;
}

bool is_replaced(const Edit& edit) {
  if (edit.object.kind != "Pod" && edit.object.kind != "Job") return false;
  return edit.json.find(edit.object.kind == "Pod" ? "\"/spec/" : "\"/spec/template/") !=
         std::string::npos;
}

std::string replacing_command(const Edit& edit) {
  auto steps = SortedJson::parse(edit.json);
  if (edit.object.kind == "Job") {
    for (auto& step : job_leftovers()) steps.push_back(step);
  }
  return kubectl(edit.object) + " get " + lower_case(edit.object.kind) + " " + edit.object.name +
         " -o json | kubectl patch --local -f - --type json -p " + quoted(steps.dump()) +
         " -o json | kubectl replace --force -f -";
}

SortedJson taints_json(const std::vector<Taint>& taints) {
  SortedJson all = SortedJson::array();
  for (const auto& taint : taints) {
    SortedJson one{{"key", taint.key}, {"effect", name_of(taint.effect)}};
    if (!taint.value.empty()) one["value"] = taint.value;
    all.push_back(one);
  }
  return all;
}

SortedJson amounts_json(const Resources& resources) {
  SortedJson all = SortedJson::object();
  for (const auto& [name, quantity] : resources) {
    all[name] = to_string(quantity, name == "memory" || name == "ephemeral-storage");
  }
  return all;
}

}  // namespace

std::string path_step(std::string_view key) {
  std::string step;
  for (const char c : key) step += c == '~' ? "~0" : c == '/' ? "~1" : std::string{c};
  return step;
}

std::string json_text(std::string_view text) {
  return SortedJson(text).dump();
}

SpecPlace spec_place(const Pod& pod, const ClusterObjects& objects) {
  const SpecPlace itself{{"Pod", pod.meta.ns, pod.meta.name}, "/spec"};
  if (!pod.meta.owner) return itself;
  const auto& owner = *pod.meta.owner;
  const auto job = objects.jobs.find(pod.meta.ns + "/" + owner.name);
  if (owner.kind == "Job" && job != objects.jobs.end()) {
    const auto& set = job->second->meta.owner;
    if (!set || set->kind != "JobSet")
      return {{"Job", pod.meta.ns, owner.name}, "/spec/template/spec"};
    return {{"JobSet", pod.meta.ns, set->name},
            "/spec/replicatedJobs/0/template/spec/template/spec"};
  }
  if (owner.kind == "StatefulSet")
    return {{owner.kind, pod.meta.ns, owner.name}, "/spec/template/spec"};
  if (owner.kind == "ReplicaSet" && owner.name.rfind('-') != std::string::npos) {
    return {{"Deployment", pod.meta.ns, owner.name.substr(0, owner.name.rfind('-'))},
            "/spec/template/spec"};
  }
  return itself;
}

std::vector<SpecPlace> spec_places(const std::vector<PodPointer>& pods,
                                   const ClusterObjects& objects) {
  std::vector<SpecPlace> places;
  for (const auto& pod : pods) {
    auto place = spec_place(*pod, objects);
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  return places;
}

Edit patch_of(ObjectName object, const std::vector<PatchStep>& steps) {
  SortedJson patch = SortedJson::array();
  for (const auto& step : steps) {
    SortedJson one{{"op", step.op}, {"path", step.path}};
    if (step.op != "remove") one["value"] = SortedJson::parse(step.value);
    patch.push_back(std::move(one));
  }
  return {Edit::Action::patch, std::move(object), patch.dump()};
}

Edit removal_of(ObjectName object) {
  return {Edit::Action::remove, std::move(object), ""};
}

void append_edits(std::vector<Edit>& edits, const std::vector<Edit>& more) {
  for (const auto& edit : more) {
    const auto same = std::ranges::find_if(edits, [&](const Edit& other) {
      return other.action == Edit::Action::patch && edit.action == Edit::Action::patch &&
             other.object == edit.object;
    });
    if (same == edits.end()) {
      edits.push_back(edit);
      continue;
    }
    auto steps = SortedJson::parse(same->json);
    for (auto& step : SortedJson::parse(edit.json)) steps.push_back(step);
    same->json = steps.dump();
  }
}

std::string command_in_place(const Edit& edit) {
  return kubectl(edit.object) + " patch " + lower_case(edit.object.kind) + " " + edit.object.name +
         " --type json -p " + quoted(edit.json);
}

std::string command_for(const Edit& edit) {
  switch (edit.action) {
    case Edit::Action::remove:
      return kubectl(edit.object) + " delete " + lower_case(edit.object.kind) + " " +
             edit.object.name;
    case Edit::Action::create:
      return "kubectl create -f - <<< " + quoted(edit.json);
    case Edit::Action::patch:
      break;
  }
  return is_replaced(edit) ? replacing_command(edit) : command_in_place(edit);
}

std::string node_manifest(const Node& node) {
  SortedJson labels = SortedJson::object();
  for (const auto& [key, value] : node.meta.labels) labels[key] = value;
  SortedJson annotations = SortedJson::object();
  for (const auto& [key, value] : node.meta.annotations) annotations[key] = value;
  const auto amounts = amounts_json(node.allocatable);
  SortedJson manifest{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", {{"name", node.meta.name}, {"labels", labels}, {"annotations", annotations}}},
      {"spec", SortedJson::object()},
      {"status",
       {{"capacity", amounts},
        {"allocatable", amounts},
        {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}}}}}};
  if (!node.taints.empty()) manifest["spec"]["taints"] = taints_json(node.taints);
  return manifest.dump();
}

std::string volume_manifest(const std::string& name, const std::string& storage_class) {
  return SortedJson{{"apiVersion", "v1"},
                    {"kind", "PersistentVolume"},
                    {"metadata", {{"name", name}}},
                    {"spec",
                     {{"storageClassName", storage_class},
                      {"capacity", {{"storage", "1Ti"}}},
                      {"accessModes", {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"}},
                      {"hostPath", {{"path", "/var/lib/" + name}}}}}}
      .dump();
}

std::string volume_claim_manifest(const VolumeClaim& claim) {
  SortedJson spec{{"accessModes", {"ReadWriteOnce"}},
                  {"resources", {{"requests", {{"storage", "1Gi"}}}}}};
  spec["storageClassName"] = claim.storage_class;
  if (!claim.volume.empty()) spec["volumeName"] = claim.volume;
  return SortedJson{{"apiVersion", "v1"},
                    {"kind", "PersistentVolumeClaim"},
                    {"metadata", {{"namespace", claim.meta.ns}, {"name", claim.meta.name}}},
                    {"spec", spec}}
      .dump();
}

std::string tolerations_json(const std::vector<Toleration>& tolerations) {
  SortedJson all = SortedJson::array();
  for (const auto& toleration : tolerations) {
    SortedJson one{{"operator", toleration.exists ? "Exists" : "Equal"}};
    if (!toleration.key.empty()) one["key"] = toleration.key;
    if (!toleration.exists) one["value"] = toleration.value;
    if (toleration.effect) one["effect"] = name_of(*toleration.effect);
    all.push_back(one);
  }
  return all.dump();
}

std::string resources_json(const Resources& resources) {
  return amounts_json(resources).dump();
}

std::string strings_json(const std::vector<std::string>& values) {
  return SortedJson(values).dump();
}

}  // namespace weir::observe
