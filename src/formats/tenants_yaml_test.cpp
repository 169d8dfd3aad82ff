// SPDX-License-Identifier: Apache-2.0
#include "formats/tenants_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/cluster_shorthand.h"
#include "formats/cluster_yaml.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

Cluster one_pool() {
  return *parse_cluster_shorthand("4x8xA100");
}

// Pools cpu (0), a100 (1) with 16 GPUs and h100 (2) with 8.
Cluster two_pools() {
  return *read_cluster_yaml(*InputFile::from_memory(
      "lab.yaml",
      "nodes:\n"
      "  - {name: login, cpus: 1, memory: 1GiB}\n"
      "  - {name: a, count: 2, cpus: 1, memory: 1GiB, gpus: 8, model: A100, pool: a100}\n"
      "  - {name: h, cpus: 1, memory: 1GiB, gpus: 8, model: H100, pool: h100}\n"));
}

Result<TenantTable> tenants_from(std::string_view text, const Cluster& cluster = one_pool()) {
  return read_tenants_yaml(*InputFile::from_memory("tenants.yaml", text), cluster);
}

TEST(TenantsYaml, ReadsGroupsInsideGroups) {
  const auto table = tenants_from(
      "half_life: 12h\n"
      "lease: 5m\n"
      "tenants:\n"
      "  - name: research\n"
      "    guaranteed: 16\n"
      "    maximum: 32\n"
      "    weight: 2\n"
      "    tenants:\n"
      "      - {name: vision, guaranteed: 8}\n"
      "      - {name: language, guaranteed: 8, maximum: 24}\n"
      "  - name: product\n");
  ASSERT_TRUE(table) << mistakes_of(table);
  EXPECT_EQ(table->half_life, std::chrono::hours{12});
  EXPECT_EQ(table->lease, std::chrono::minutes{5});
  const PoolIndex pool{0};
  EXPECT_EQ(table->tenants, (std::vector<Tenant>{{"research", kNoParent, 2, {{pool, 16, 32}}},
                                                 {"vision", 0, 1, {{pool, 8, kNoMaximum}}},
                                                 {"language", 0, 1, {{pool, 8, 24}}},
                                                 {"product", kNoParent, 1, {}}}));
  EXPECT_TRUE(is_well_formed(*table));
}

TEST(TenantsYaml, ReadsGpusByPool) {
  const auto table = tenants_from(
      "tenants: [{name: a, guaranteed: {h100: 4, a100: 8}, maximum: {h100: 0x8}}]\n", two_pools());
  EXPECT_EQ(mistakes_of(table),
            "tenants.yaml:1: maximum.h100 is \"0x8\", expected an integer from 0 to 1000000000\n");
  const auto right = tenants_from(
      "tenants: [{name: a, guaranteed: {h100: 4, a100: 8}, maximum: {h100: 8}}]", two_pools());
  ASSERT_TRUE(right) << mistakes_of(right);
  EXPECT_EQ(right->tenants.front().quotas,
            (std::vector<TenantQuota>{{PoolIndex{1}, 8, kNoMaximum}, {PoolIndex{2}, 4, 8}}));
}

TEST(TenantsYaml, ReadsTheSameFromJson) {
  const auto table = read_tenants_json(
      R"({"lease": "5m", "tenants": [{"name": "a", "weight": 3, "guaranteed": {"A100": 4},)"
      R"( "tenants": [{"name": "b", "guaranteed": 4}]}]})",
      "body", one_pool());
  ASSERT_TRUE(table) << mistakes_of(table);
  EXPECT_EQ(*table, *tenants_from("lease: 5m\n"
                                  "tenants:\n"
                                  "  - {name: a, weight: 3, guaranteed: 4, tenants: [{name: b, "
                                  "guaranteed: {A100: 4}}]}\n"));
}

TEST(TenantsYaml, MayBeNobody) {
  const auto table = tenants_from("tenants: []\n");
  ASSERT_TRUE(table) << mistakes_of(table);
  EXPECT_TRUE(table->empty());
}

TEST(TenantsYaml, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(
      mistakes_of(tenants_from("half_life: 0s\n"
                               "tenants:\n"
                               "  - {name: a, guaranteed: 20, maximum: 16, weight: 0}\n"
                               "  - {name: _x, guaranteed: 33}\n"
                               "  - {name: a, garanteed: 1}\n"
                               "  - just text\n"
                               "  - {guaranteed: {T4: 1}}\n"
                               "  - name: group\n"
                               "    tenants: {name: b}\n"
                               "tenant: x\n")),
      "tenants.yaml:10: field is \"tenant\", expected one of half_life, lease, tenants; did "
      "you mean tenants?\n"
      "tenants.yaml:1: half_life is \"0s\", expected a duration from 1s to 366d, such as 24h\n"
      "tenants.yaml:3: weight is \"0\", expected an integer from 1 to 1000000\n"
      "tenants.yaml:3: maximum is \"16\", expected at least the 20 that are guaranteed\n"
      "tenants.yaml:4: name is \"_x\", expected 1 to 64 letters, digits, - _ . that begin "
      "with a letter or digit\n"
      "tenants.yaml:4: guaranteed is \"33\", expected an integer from 0 to 32\n"
      "tenants.yaml:5: field is \"garanteed\", expected one of name, guaranteed, maximum, "
      "weight, tenants; did you mean guaranteed?\n"
      "tenants.yaml:5: name is \"a\", expected another name: line 3 has this one\n"
      "tenants.yaml:6: tenant is \"just text\", expected a map with some of the fields name, "
      "guaranteed, maximum, weight, tenants\n"
      "tenants.yaml:7: name is missing, expected 1 to 64 letters, digits, - _ . that begin "
      "with a letter or digit\n"
      "tenants.yaml:7: guaranteed is \"T4\", expected a pool with GPUs: A100\n"
      "tenants.yaml:9: tenants is \"a map\", expected a list of tenants, such as - {name: "
      "research, guaranteed: 16}; [] for none\n");
}

TEST(TenantsYaml, GuaranteesNoMoreThanThereIs) {
  EXPECT_EQ(mistakes_of(tenants_from("tenants:\n"
                                     "  - {name: a, guaranteed: 24}\n"
                                     "  - {name: b, guaranteed: 9}\n")),
            "tenants.yaml:3: guaranteed is \"9\", expected at most 8: pool A100 has 32 GPUs, and "
            "the tenants before have the others\n");
  EXPECT_EQ(
      mistakes_of(tenants_from("tenants:\n"
                               "  - name: group\n"
                               "    guaranteed: 8\n"
                               "    tenants: [{name: a, guaranteed: 8}, {name: b, guaranteed: 1}]\n"
                               "  - name: other\n"
                               "    tenants: [{name: c, guaranteed: 1}]\n")),
      "tenants.yaml:4: guaranteed is \"1\", expected at most 0: group is guaranteed 8 of pool "
      "A100, and its tenants before have the others\n"
      "tenants.yaml:6: guaranteed is \"1\", expected at most 0: other is guaranteed 0 of pool "
      "A100, and its tenants before have the others\n");
}

TEST(TenantsYaml, WantsPoolsToBeNamedWhereThereAreSeveral) {
  EXPECT_EQ(mistakes_of(tenants_from(
                "tenants: [{name: a, guaranteed: 8}, {name: b, maximum: {cpu: 1}}]", two_pools())),
            "tenants.yaml:1: guaranteed is \"8\", expected GPUs by pool: a100, h100\n"
            "tenants.yaml:1: maximum is \"cpu\", expected a pool with GPUs: a100, h100\n");
}

TEST(TenantsYaml, NeedsAListOfTenants) {
  EXPECT_THAT(mistakes_of(tenants_from("lease: 5m\n")),
              HasSubstr("tenants is missing, expected a list"));
  EXPECT_THAT(mistakes_of(tenants_from("")), HasSubstr("file is \"nothing\", expected a map"));
}

std::string nested(int levels) {
  std::string text = R"({"tenants":[)";
  for (int i = 1; i <= levels; ++i)
    text += R"({"name":"t)" + std::to_string(i) + R"(","maximum":{"A100":9},"tenants":[)";
  for (int i = 1; i <= levels; ++i) text += "]}";
  return text + "]}";
}

TEST(TenantsYaml, IsSixteenGroupsDeep) {
  EXPECT_EQ(mistakes_of(read_tenants_json(nested(15), "body", one_pool())), "ok\n");
  EXPECT_EQ(mistakes_of(tenants_from(nested(15))), "ok\n");
  EXPECT_THAT(mistakes_of(read_tenants_json(nested(40), "body", one_pool())),
              HasSubstr("not JSON"));
  EXPECT_THAT(mistakes_of(tenants_from(nested(40))), HasSubstr("nested too deeply"));
}

// What a reader could have made.
TenantTable any_table(const Cluster& cluster) {
  TenantTable table;
  table.half_life = std::chrono::seconds{*rc::gen::inRange(1, 1'000'000)};
  table.lease = std::chrono::seconds{*rc::gen::inRange(1, 1'000'000)};
  std::vector<std::int32_t> path{kNoParent};  // the groups that may still get a tenant
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    path.resize(static_cast<std::size_t>(
        *rc::gen::inRange(1, static_cast<int>(std::min<std::size_t>(path.size(), 15)) + 1)));
    Tenant tenant{"t" + std::to_string(i), path.back(), *rc::gen::inRange<std::int64_t>(1, 5), {}};
    for (std::uint32_t pool = 1; pool < cluster.pools.size(); ++pool) {
      TenantQuota quota{PoolIndex{pool}, 0, kNoMaximum};
      if (tenant.parent == kNoParent && i == 0) quota.guaranteed = *rc::gen::inRange(0, 8);
      if (*rc::gen::arbitrary<bool>()) quota.maximum = *rc::gen::inRange(8, 20);
      if (quota != TenantQuota{PoolIndex{pool}, 0, kNoMaximum}) tenant.quotas.push_back(quota);
    }
    table.tenants.push_back(std::move(tenant));
    path.push_back(i);
  }
  return table;
}

RC_GTEST_PROP(TenantsYaml, ComesBackAsWritten, ()) {
  const Cluster cluster = two_pools();
  const TenantTable table = any_table(cluster);
  const std::string text = write_tenants_json(table, cluster);
  const auto back = read_tenants_json(text, "body", cluster);
  RC_ASSERT(mistakes_of(back) == "ok\n");
  RC_ASSERT(*back == table);
  const auto as_yaml = read_tenants_yaml(*InputFile::from_memory("t.yaml", text), cluster);
  RC_ASSERT(mistakes_of(as_yaml) == "ok\n");
  RC_ASSERT(*as_yaml == table);
}

}  // namespace
}  // namespace weir::formats
