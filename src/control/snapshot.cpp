// SPDX-License-Identifier: Apache-2.0
#include "control/snapshot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/observed_snapshot.h"
#include "control/snapshot_bytes.h"
#include "control/store_log.h"

namespace weir::control {
namespace {

using schedule::JobPhase;
using schedule::JobState;
using schedule::PoolState;
using schedule::SizeRule;
using schedule::SizeTable;
using schedule::State;
using schedule::TrainingJob;
using schedule::TrainingPhase;
using schedule::TrainingPool;
using schedule::TrainingState;

constexpr std::string_view kMagic = "weirsnap";
constexpr std::uint8_t kVersion = 6;
constexpr std::uint8_t kObserved = 0x80;     // tasks of another scheduler: observed_snapshot.h
constexpr std::uint8_t kWithoutService = 1;  // the version before PolicyState
constexpr std::uint8_t kWithoutTenants = 2;  // the version before tenants
constexpr std::uint8_t kWithoutEnergy = 3;   // the version before clocks and energy
constexpr std::uint8_t kWithoutPayers = 4;   // the version before budgets of tenants
constexpr std::uint8_t kWithoutNetwork = 5;  // the version before links
constexpr std::size_t kChecksumBytes = 4;
constexpr auto kLastPhase = static_cast<std::uint8_t>(TrainingPhase::failed);
constexpr auto kLastSizeRule = static_cast<std::uint8_t>(SizeRule::asked);
constexpr auto kLastDeadlineKind = static_cast<std::uint8_t>(DeadlineKind::hard);
constexpr auto kLastWhenSpent = static_cast<std::uint8_t>(WhenSpent::pause);
constexpr auto kLastQuantity = static_cast<std::uint8_t>(SupplyQuantity::power_cap);
constexpr auto kLastPlacement = static_cast<std::uint8_t>(NetworkPlacement::isolated_where_worth);
constexpr auto kLastLinkUse = static_cast<std::uint8_t>(LinkUse::circuits);
constexpr auto kLastOrigin = static_cast<std::uint8_t>(CurveOrigin::assumed);

// A job's first byte: its phase, and these.
constexpr std::uint8_t kPhaseBits = 0x0f;
constexpr std::uint8_t kIsReady = 0x10;
constexpr std::uint8_t kIsAtRisk = 0x20;
constexpr std::uint8_t kIsProvisional = 0x40;
constexpr std::uint8_t kHasMore = 0x80;  // more than what is kept of a job that is over

std::array<char, kChecksumBytes> as_bytes(std::uint32_t checksum) {
  std::array<char, kChecksumBytes> bytes{};
  for (char& byte : bytes) {
    byte = static_cast<char>(checksum & 0xffU);
    checksum >>= 8U;
  }
  return bytes;
}

// A value that several may share: the first time itself, later its number. 0: none, 1: it follows.
template <class T>
class SharedWriter {
 public:
  template <class Write>
  void put(ByteWriter& out, const std::shared_ptr<const T>& value, Write write) {
    if (value == nullptr) return out.number(0);
    const auto [known, is_new] = numbers_.try_emplace(value.get(), numbers_.size() + 2);
    if (!is_new) return out.number(known->second);
    out.number(1);
    write(out, *value);
  }

 private:
  std::unordered_map<const T*, std::size_t> numbers_;
};

template <class T>
class SharedReader {
 public:
  template <class Read>
  std::shared_ptr<const T> get(ByteReader& in, Read read) {
    const auto number = static_cast<std::size_t>(in.number_up_to(values_.size() + 1));
    if (number == 0) return nullptr;
    if (number > 1) return values_[number - 2];
    values_.push_back(std::make_shared<const T>(read(in)));
    return values_.back();
  }

 private:
  std::vector<std::shared_ptr<const T>> values_;
};

void put_key(ByteWriter& out, const CurveKey& key) {
  out.text(key.model);
  out.integer(key.global_batch);
}

CurveKey get_key(ByteReader& in) {
  CurveKey key;
  key.model = in.text();
  key.global_batch = in.integer();
  return key;
}

void put_curve(ByteWriter& out, const Curve& curve) {
  out.byte(static_cast<std::uint8_t>(curve.origin()));
  out.number(curve.measured().size());
  for (const CurvePoint& point : curve.measured()) {
    out.integer(point.gpus);
    out.integer(point.rate.value);
  }
}

Curve get_curve(ByteReader& in) {
  const auto origin = static_cast<CurveOrigin>(in.number_up_to(kLastOrigin));
  std::vector<CurvePoint> points(in.count());
  for (CurvePoint& point : points) {
    point.gpus = in.small_integer();
    point.rate = IterationRate{in.integer()};
  }
  return Curve{std::move(points), origin};
}

void put_spec(ByteWriter& out, const TrainingSpec& spec) {
  out.text(spec.name);
  put_key(out, spec.curve);
  out.integer(spec.iterations);
  out.byte(static_cast<std::uint8_t>(spec.deadline_kind));
  out.time(spec.deadline);
  out.integer(spec.asked_gpus);
  const bool has_margin = spec.margin != Duration{0};
  out.byte(static_cast<std::uint8_t>((spec.is_rigid ? 1 : 0) | (spec.in_one_piece ? 2 : 0) |
                                     (has_margin ? 4 : 0) | (spec.tenant.empty() ? 0 : 8) |
                                     (spec.priority == 0 ? 0 : 16)));
  if (has_margin) out.duration(spec.margin);
  if (!spec.tenant.empty()) out.text(spec.tenant);
  if (spec.priority != 0) out.integer(spec.priority);
}

TrainingSpec get_spec(ByteReader& in) {
  TrainingSpec spec;
  spec.name = in.text();
  spec.curve = get_key(in);
  spec.iterations = in.integer();
  spec.deadline_kind = static_cast<DeadlineKind>(in.number_up_to(kLastDeadlineKind));
  spec.deadline = in.time();
  spec.asked_gpus = in.small_integer();
  const auto flags = in.number_up_to(31);
  spec.is_rigid = (flags & 1) != 0;
  spec.in_one_piece = (flags & 2) != 0;
  if ((flags & 4) != 0) spec.margin = in.duration();
  if ((flags & 8) != 0) spec.tenant = in.text();
  if ((flags & 16) != 0) spec.priority = in.small_integer();
  return spec;
}

void put_tenants(ByteWriter& out, const TenantTable& table) {
  out.number(table.tenants.size());
  for (const Tenant& tenant : table.tenants) {
    out.text(tenant.name);
    out.integer(tenant.parent);
    out.integer(tenant.weight);
    out.number(tenant.quotas.size());
    for (const TenantQuota& quota : tenant.quotas) {
      out.number(quota.pool.value);
      out.integer(quota.guaranteed);
      out.integer(quota.maximum);
    }
  }
  out.duration(table.half_life);
  out.duration(table.lease);
}

TenantTable get_tenants(ByteReader& in) {
  TenantTable table;
  table.tenants.resize(in.count());
  for (Tenant& tenant : table.tenants) {
    tenant.name = in.text();
    tenant.parent = in.small_integer();
    tenant.weight = in.integer();
    tenant.quotas.resize(in.count());
    for (TenantQuota& quota : tenant.quotas) {
      quota.pool = PoolIndex{static_cast<std::uint32_t>(in.number_up_to(0xffffffff))};
      quota.guaranteed = in.small_integer();
      quota.maximum = in.small_integer();
    }
  }
  table.half_life = in.duration();
  table.lease = in.duration();
  if (!is_well_formed(table) || table != with_default_tenant(table)) in.fail();
  return table;
}

void put_usage(ByteWriter& out, const schedule::DecayedUsage& usage) {
  out.time(usage.since);
  out.integer(usage.gpu_milliseconds);
  out.integer(usage.gpus);
}

schedule::DecayedUsage get_usage(ByteReader& in) {
  schedule::DecayedUsage usage;
  usage.since = in.time();
  usage.gpu_milliseconds = in.integer();
  usage.gpus = in.small_integer();
  return usage;
}

void put_sizes(ByteWriter& out, const SizeTable& sizes) {
  out.number(sizes.size());
  for (const schedule::SizeOption& size : sizes) {
    out.integer(size.gpus);
    out.integer(size.rate.value);
    out.duration(size.price);
  }
}

SizeTable get_sizes(ByteReader& in) {
  SizeTable sizes(in.count());
  for (schedule::SizeOption& size : sizes) {
    size.gpus = in.small_integer();
    size.rate = IterationRate{in.integer()};
    size.price = in.duration();
    if (size.gpus < 1 || size.rate.value < 1) in.fail();
  }
  return sizes;
}

void put_timeline(ByteWriter& out, const Timeline& timeline) {
  out.number(timeline.steps.size());
  for (const TimelineStep& step : timeline.steps) {
    out.time(step.from);
    out.number(step.block.size);
    out.number(step.block.first);
  }
  out.time(timeline.end);
}

// To the last bit.
void put_real(ByteWriter& out, double value) {
  out.number(std::bit_cast<std::uint64_t>(value));
}

double get_real(ByteReader& in) {
  const auto value = std::bit_cast<double>(in.number());
  if (!std::isfinite(value)) in.fail();
  return in.has_failed() ? 0 : value;
}

void put_use(ByteWriter& out, const schedule::EnergyUse& use) {
  put_real(out, use.joules);
  put_real(out, use.units);
}

schedule::EnergyUse get_use(ByteReader& in) {
  schedule::EnergyUse use;
  use.joules = get_real(in);
  use.units = get_real(in);
  return use;
}

void put_maybe(ByteWriter& out, const std::optional<std::int64_t>& value) {
  out.byte(value ? 1 : 0);
  if (value) out.integer(*value);
}

std::optional<std::int64_t> get_maybe(ByteReader& in) {
  if (in.number_up_to(1) == 0) return std::nullopt;
  return in.integer();
}

void put_supply(ByteWriter& out, const SupplySeries& series) {
  out.time(series.begin());
  out.duration(series.step());
  out.number(series.values().size());
  for (const double value : series.values()) put_real(out, value);
}

SupplySeries get_supply(ByteReader& in) {
  const Time begin = in.time();
  const Duration step = in.duration();
  std::vector<double> values(in.count());
  for (double& value : values) value = get_real(in);
  if (!is_sound_series(begin, step, values)) in.fail();
  return in.has_failed() ? SupplySeries{} : SupplySeries{begin, step, std::move(values)};
}

void put_terms(ByteWriter& out, const EnergyTerms& terms) {
  out.number(terms.pools.size());
  for (const PoolPower& power : terms.pools) {
    out.number(power.pool.value);
    out.integer(power.idle_milliwatts);
    out.integer(power.node_milliwatts);
    out.integer(power.asleep_milliwatts);
    out.integer(power.overhead_permille);
  }
  put_maybe(out, terms.price_nanos);
  put_maybe(out, terms.budget_micros);
  out.time(terms.from);
  out.time(terms.until);
  out.byte(static_cast<std::uint8_t>(terms.when_spent));
  out.integer(terms.expected_gpu_seconds);
  put_maybe(out, terms.cap_milliwatts);
  out.duration(terms.longest_pause);
  out.number(terms.tenants.size());
  for (const TenantBudget& budget : terms.tenants) {
    out.text(budget.tenant);
    out.integer(budget.budget_micros);
    out.integer(budget.expected_gpu_seconds);
  }
}

EnergyTerms get_terms(ByteReader& in, bool has_payers) {
  EnergyTerms terms;
  terms.pools.resize(in.count());
  for (PoolPower& power : terms.pools) {
    power.pool = PoolIndex{static_cast<std::uint32_t>(in.number_up_to(0xffffffff))};
    power.idle_milliwatts = in.integer();
    power.node_milliwatts = in.integer();
    power.asleep_milliwatts = in.integer();
    power.overhead_permille = in.small_integer();
  }
  terms.price_nanos = get_maybe(in);
  terms.budget_micros = get_maybe(in);
  terms.from = in.time();
  terms.until = in.time();
  terms.when_spent = static_cast<WhenSpent>(in.number_up_to(kLastWhenSpent));
  terms.expected_gpu_seconds = in.integer();
  terms.cap_milliwatts = get_maybe(in);
  terms.longest_pause = in.duration();
  if (has_payers) {
    terms.tenants.resize(in.count());
    for (TenantBudget& budget : terms.tenants) {
      budget.tenant = in.text();
      budget.budget_micros = in.integer();
      budget.expected_gpu_seconds = in.integer();
    }
  }
  if (!is_well_formed(terms) || terms.pools.empty()) in.fail();
  return terms;
}

void put_budget(ByteWriter& out, const schedule::BudgetAccount& budget) {
  for (const double value : {budget.used, budget.expected, budget.expected_per_second, budget.paid})
    put_real(out, value);
  out.integer(budget.price_nanos);
  out.time(budget.priced_at);
}

schedule::BudgetAccount get_budget(ByteReader& in) {
  schedule::BudgetAccount budget;
  for (double* value : {&budget.used, &budget.expected, &budget.expected_per_second, &budget.paid})
    *value = get_real(in);
  budget.price_nanos = in.integer();
  budget.priced_at = in.time();
  return budget;
}

void put_account(ByteWriter& out, const schedule::EnergyAccount& account) {
  out.byte(static_cast<std::uint8_t>((account.supply ? 1 : 0) | (account.terms ? 2 : 0)));
  if (account.supply) {
    out.byte(static_cast<std::uint8_t>(account.kind.quantity));
    out.text(account.kind.currency);
    put_supply(out, *account.supply);
  }
  if (account.terms) put_terms(out, *account.terms);
  put_budget(out, account.budget);
  for (const schedule::BudgetAccount& budget : account.of_tenants) put_budget(out, budget);
  out.time(account.since);
  put_use(out, account.total);
  out.number(account.tenants.size());
  for (const auto& [name, use] : account.tenants) {
    out.text(name);
    put_use(out, use);
  }
}

schedule::EnergyAccount get_account(ByteReader& in, bool has_payers) {
  schedule::EnergyAccount account;
  const auto flags = in.number_up_to(3);
  if ((flags & 1) != 0) {
    account.kind.quantity = static_cast<SupplyQuantity>(in.number_up_to(kLastQuantity));
    account.kind.currency = in.text();
    account.supply = std::make_shared<const SupplySeries>(get_supply(in));
  }
  if ((flags & 2) != 0) {
    if (account.supply == nullptr) in.fail();
    account.terms = std::make_shared<const EnergyTerms>(get_terms(in, has_payers));
  }
  if (has_payers) {
    account.budget = get_budget(in);
    if (account.terms != nullptr && !in.has_failed()) {
      for (std::size_t left = account.terms->tenants.size(); left > 0; --left)
        account.of_tenants.push_back(get_budget(in));
    }
    account.since = in.time();
  } else {
    schedule::BudgetAccount& budget = account.budget;
    for (double* value :
         {&budget.used, &budget.expected, &budget.expected_per_second, &budget.paid})
      *value = get_real(in);
    budget.price_nanos = in.integer();
    account.since = in.time();
    budget.priced_at = in.time();
  }
  account.total = get_use(in);
  for (std::size_t left = in.count(); left > 0 && !in.has_failed(); --left) {
    std::string name = in.text();
    account.tenants[std::move(name)] = get_use(in);
  }
  return account;
}

void put_power(ByteWriter& out, const PoolState& pool) {
  out.number(pool.power.size());
  for (const auto& [key, table] : pool.power) {
    put_key(out, key);
    out.byte(pool.measured_power.contains(key) ? 1 : 0);
    out.number(table->size());
    for (const PowerPoint& point : *table) {
      out.integer(point.gpus);
      out.integer(point.clock_permille);
      out.integer(point.rate.value);
      out.integer(point.milliwatts);
    }
  }
  out.number(pool.iterations_seen.size());
  for (const auto& [seen, iterations] : pool.iterations_seen) {
    out.text(seen.payer);
    put_key(out, seen.kind);
    out.integer(iterations);
  }
}

void get_power(ByteReader& in, PoolState& pool, bool has_payers) {
  for (std::size_t left = in.count(); left > 0 && !in.has_failed(); --left) {
    CurveKey key = get_key(in);
    if (in.number_up_to(1) != 0) pool.measured_power.insert(key);
    PowerTable table(in.count());
    for (PowerPoint& point : table) {
      point.gpus = in.small_integer();
      point.clock_permille = in.small_integer();
      point.rate = IterationRate{in.integer()};
      point.milliwatts = in.integer();
      if (point.gpus < 1 || point.clock_permille < 1 || point.rate.value < 1 ||
          point.milliwatts < 0)
        in.fail();
    }
    pool.power[std::move(key)] = std::make_shared<const PowerTable>(std::move(table));
  }
  for (std::size_t left = in.count(); left > 0 && !in.has_failed(); --left) {
    schedule::SeenWork seen;
    if (has_payers) seen.payer = in.text();
    seen.kind = get_key(in);
    pool.iterations_seen[std::move(seen)] = in.integer();
  }
}

void put_network(ByteWriter& out, const NetworkTerms& terms) {
  out.number(terms.fabrics.size());
  for (const PoolFabric& fabric : terms.fabrics) {
    out.number(fabric.pool.value);
    for (const std::int32_t count : {fabric.leaves, fabric.nodes_per_leaf, fabric.spines,
                                     fabric.links_per_pair, fabric.spine_ports})
      out.integer(count);
  }
  if (terms.fabrics.empty()) return;
  out.byte(static_cast<std::uint8_t>(terms.placement));
  out.number(terms.hash_seed);
  out.number(terms.kinds.size());
  for (const KindTraffic& kind : terms.kinds) {
    out.text(kind.model);
    for (const std::int32_t part : {kind.all_reduce, kind.all_to_all, kind.all_gather})
      out.integer(part);
    out.byte(kind.halves_and_doubles ? 1 : 0);
  }
}

NetworkTerms get_network(ByteReader& in) {
  NetworkTerms terms;
  terms.fabrics.resize(in.count());
  for (PoolFabric& fabric : terms.fabrics) {
    fabric.pool = PoolIndex{static_cast<std::uint32_t>(in.number_up_to(0xffffffff))};
    for (std::int32_t* count : {&fabric.leaves, &fabric.nodes_per_leaf, &fabric.spines,
                                &fabric.links_per_pair, &fabric.spine_ports})
      *count = in.small_integer();
  }
  if (terms.fabrics.empty()) return terms;
  terms.placement = static_cast<NetworkPlacement>(in.number_up_to(kLastPlacement));
  terms.hash_seed = in.number();
  terms.kinds.resize(in.count());
  for (KindTraffic& kind : terms.kinds) {
    kind.model = in.text();
    for (std::int32_t* part : {&kind.all_reduce, &kind.all_to_all, &kind.all_gather})
      *part = in.small_integer();
    kind.halves_and_doubles = in.number_up_to(1) != 0;
  }
  if (!in.has_failed() && !is_well_formed(terms)) in.fail();
  return terms;
}

void put_links(ByteWriter& out, const LinkGrant* links) {
  out.byte(links == nullptr ? 0 : static_cast<std::uint8_t>(1 + static_cast<int>(links->use)));
  if (links == nullptr) return;
  out.duration(links->shift);
  out.number(links->uplinks.size());
  for (const std::int32_t uplink : links->uplinks) out.integer(uplink);
  out.number(links->circuits.size());
  for (const OpticalCircuit& circuit : links->circuits) {
    out.integer(circuit.optical_switch);
    out.integer(circuit.leaf);
    out.integer(circuit.is_direct ? -1 - std::int64_t{circuit.end} : std::int64_t{circuit.end});
  }
}

std::shared_ptr<const LinkGrant> get_links(ByteReader& in) {
  const auto first = in.number_up_to(kLastLinkUse + 1);
  if (first == 0) return nullptr;
  LinkGrant links;
  links.use = static_cast<LinkUse>(first - 1);
  links.shift = in.duration();
  links.uplinks.resize(in.count());
  for (std::int32_t& uplink : links.uplinks) uplink = in.small_integer();
  links.circuits.resize(in.count());
  for (OpticalCircuit& circuit : links.circuits) {
    circuit.optical_switch = in.small_integer();
    circuit.leaf = in.small_integer();
    const std::int32_t end = in.small_integer();
    circuit.is_direct = end < 0;
    circuit.end = end < 0 ? -1 - end : end;
  }
  return std::make_shared<const LinkGrant>(std::move(links));
}

class SnapshotWriter {
 public:
  std::string write(const State& state) {
    const TrainingState& training = state.training;
    out_.duration(training.rescale_cost.base);
    out_.duration(training.rescale_cost.per_doubling);
    out_.byte(static_cast<std::uint8_t>(training.size_rule));
    put_tenants(out_, training.tenants ? *training.tenants : TenantTable{});
    put_account(out_, training.energy);
    put_network(out_, training.network ? *training.network : NetworkTerms{});
    out_.number(training.pools.size());
    for (const PoolState& pool : training.pools) put_pool(pool);
    out_.number(training.jobs.size());
    for (std::size_t i = 0; i < training.jobs.size(); ++i) put_job(training.jobs[i]);
    return out_.take();
  }

 private:
  void put_pool(const PoolState& pool) {
    out_.number(pool.pool->id.value);
    out_.number(pool.pool->stride);
    out_.number(pool.pool->largest_block);
    out_.number(pool.pool->nodes.size());
    for (std::size_t i = 0; i < pool.pool->nodes.size(); ++i) {
      out_.number(pool.pool->nodes[i].value);
      out_.integer(pool.pool->gpus[i]);
      out_.byte(pool.is_up[i]);
      out_.number(pool.foreign[i].bits);
    }
    for (const schedule::DecayedUsage& usage : pool.usage) put_usage(out_, usage);
    out_.integer(pool.arrivals_seen);
    out_.time(pool.first_arrival);
    out_.number(pool.arrivals.size());
    for (const schedule::RememberedArrival& arrival : pool.arrivals) {
      out_.time(arrival.at);
      out_.integer(arrival.least_gpu_seconds);
      out_.byte(arrival.was_refused_for_room ? 1 : 0);
    }
    out_.number(pool.curves.size());
    for (const auto& [key, curve] : pool.curves) {
      put_key(out_, key);
      curves_.put(out_, curve, put_curve);
    }
    put_power(out_, pool);
    out_.number(pool.active.size());
    std::uint64_t last = 0;
    for (const JobId job : pool.active) {
      out_.number(job.value - last);
      last = job.value;
    }
  }

  void put_job(const TrainingJob& job) {
    TrainingJob over;
    over.pool = job.pool;
    over.phase = job.phase;
    over.generation = job.generation;
    over.energy = job.energy;
    const bool has_more = !(job == over);
    out_.byte(static_cast<std::uint8_t>(
        static_cast<unsigned>(job.phase) | (job.is_ready ? kIsReady : 0U) |
        (job.is_at_risk ? kIsAtRisk : 0U) | (job.is_provisional ? kIsProvisional : 0U) |
        (has_more ? kHasMore : 0U)));
    out_.number(job.pool.value);
    out_.number(std::uint64_t{job.generation} << 1U |
                (job.energy == schedule::EnergyUse{} ? 0U : 1U));
    if (!(job.energy == schedule::EnergyUse{})) put_use(out_, job.energy);
    if (!has_more) return;
    specs_.put(out_, job.spec, put_spec);
    sizes_.put(out_, job.sizes, put_sizes);
    out_.time(job.submitted);
    put_timeline(out_, job.timeline);
    out_.work(job.left);
    out_.time(job.observed_at);
    out_.time(job.ready_at);
    out_.number(job.block.size);
    out_.number(job.block.first);
    out_.integer(job.speed_permille);
    out_.time(job.served.since);
    out_.duration(job.served.running);
    out_.integer(job.served.gpu_milliseconds);
    out_.integer(job.clock_permille);
    out_.integer(job.clocked_millionths);
    put_links(out_, job.links.get());
  }

  ByteWriter out_;
  SharedWriter<Curve> curves_;
  SharedWriter<TrainingSpec> specs_;
  SharedWriter<SizeTable> sizes_;
};

// The slots of the pool that are not GPUs, of nodes that are not there, or used by somebody else.
schedule::BlockMap closed_slots(const PoolState& pool) {
  schedule::BlockMap closed{pool.pool->slots()};
  for (std::uint32_t node = 0; node < pool.pool->nodes.size(); ++node) {
    for (std::uint32_t slot = 0; slot < pool.pool->stride; ++slot) {
      const bool is_ours = static_cast<std::int32_t>(slot) < pool.pool->gpus[node] &&
                           pool.is_up[node] != 0 &&
                           !pool.foreign[node].contains(static_cast<int>(slot));
      if (!is_ours) closed.cover({node * pool.pool->stride + slot, 1});
    }
  }
  return closed;
}

class SnapshotReader {
 public:
  enum class Problem : std::uint8_t { none, damaged, other_cluster };

  SnapshotReader(std::string_view bytes, std::uint8_t version)
      : in_{bytes},
        has_service_{version != kWithoutService},
        has_tenants_{version > kWithoutTenants},
        has_energy_{version > kWithoutEnergy},
        has_payers_{version > kWithoutPayers},
        has_network_{version > kWithoutNetwork} {}

  Problem read(State& state) {
    TrainingState& training = state.training;
    training.rescale_cost.base = in_.duration();
    training.rescale_cost.per_doubling = in_.duration();
    training.size_rule = static_cast<SizeRule>(in_.number_up_to(kLastSizeRule));
    if (has_tenants_) {
      TenantTable table = get_tenants(in_);
      if (!table.empty() && !in_.has_failed())
        training.tenants = std::make_shared<const TenantTable>(std::move(table));
    }
    if (has_energy_) training.energy = get_account(in_, has_payers_);
    if (has_network_) {
      NetworkTerms terms = get_network(in_);
      if (!terms.fabrics.empty() && !in_.has_failed())
        training.network = std::make_shared<const NetworkTerms>(std::move(terms));
    }
    if (in_.number() != training.pools.size() || in_.has_failed()) return problem_here();
    if (!knows_pools_of_terms(training) || !knows_pools_of_fabrics(training)) in_.fail();
    for (PoolState& pool : training.pools) {
      if (training.tenants) pool.usage.resize(training.tenants->tenants.size());
      if (!get_pool(pool)) return problem_here();
    }
    const std::size_t jobs = in_.count();
    for (std::size_t i = 0; i < jobs && !in_.has_failed(); ++i) {
      training.jobs.push_back(get_job(training));
      JobState placeholder;
      placeholder.phase = JobPhase::training;
      state.jobs.push_back(placeholder);
    }
    if (in_.has_failed() || !in_.is_at_end() || !are_active_jobs_whole(training))
      return Problem::damaged;
    return Problem::none;
  }

 private:
  Problem problem_here() const {
    return in_.has_failed() ? Problem::damaged : Problem::other_cluster;
  }

  static bool knows_pools_of_terms(const TrainingState& training) {
    if (training.energy.terms == nullptr) return true;
    const auto& pools = training.energy.terms->pools;
    return std::all_of(pools.begin(), pools.end(), [&](const PoolPower& power) {
      return training.find_pool(power.pool) != nullptr;
    });
  }

  static bool knows_pools_of_fabrics(const TrainingState& training) {
    if (training.network == nullptr) return true;
    const auto& fabrics = training.network->fabrics;
    return std::all_of(fabrics.begin(), fabrics.end(), [&](const PoolFabric& fabric) {
      return training.find_pool(fabric.pool) != nullptr;
    });
  }

  // False when the pool is another, or on a failure.
  bool get_pool(PoolState& pool) {
    const TrainingPool& known = *pool.pool;
    if (in_.number() != known.id.value || in_.number() != known.stride ||
        in_.number() != known.largest_block || in_.number() != known.nodes.size())
      return false;
    for (std::size_t i = 0; i < known.nodes.size(); ++i) {
      if (in_.number() != known.nodes[i].value || in_.integer() != known.gpus[i]) return false;
      pool.is_up[i] = static_cast<std::uint8_t>(in_.number_up_to(1));
      pool.foreign[i] = GpuMask{static_cast<std::uint16_t>(in_.number_up_to(0xffff))};
    }
    pool.closed = closed_slots(pool);
    for (schedule::DecayedUsage& usage : pool.usage) usage = get_usage(in_);
    pool.arrivals_seen = in_.integer();
    pool.first_arrival = in_.time();
    pool.arrivals.resize(in_.count());
    for (schedule::RememberedArrival& arrival : pool.arrivals) {
      arrival.at = in_.time();
      arrival.least_gpu_seconds = in_.integer();
      arrival.was_refused_for_room = in_.number_up_to(1) != 0;
    }
    pool.curves.clear();
    const std::size_t curves = in_.count();
    for (std::size_t i = 0; i < curves && !in_.has_failed(); ++i) {
      CurveKey key = get_key(in_);
      auto curve = curves_.get(in_, get_curve);
      if (curve == nullptr) in_.fail();
      pool.curves[std::move(key)] = std::move(curve);
    }
    if (has_energy_) get_power(in_, pool, has_payers_);
    pool.active.resize(in_.count());
    std::uint64_t last = 0;
    for (JobId& job : pool.active) {
      const std::uint64_t step = in_.number();
      if (step == 0) in_.fail();  // ascending
      last += step;
      job = JobId{last};
    }
    return !in_.has_failed();
  }

  GpuBlock get_block(const TrainingPool& pool) {
    GpuBlock block;
    block.size = static_cast<std::uint32_t>(in_.number_up_to(pool.slots()));
    block.first = static_cast<std::uint32_t>(in_.number_up_to(pool.slots()));
    if (block.is_none()) return block;
    if (!std::has_single_bit(block.size) || block.first % block.size != 0 ||
        block.end() > pool.slots())
      in_.fail();
    return block;
  }

  Timeline get_timeline(const TrainingPool& pool) {
    Timeline timeline;
    timeline.steps.resize(in_.count());
    for (TimelineStep& step : timeline.steps) {
      step.from = in_.time();
      step.block = get_block(pool);
    }
    timeline.end = in_.time();
    return timeline;
  }

  TrainingJob get_job(const TrainingState& training) {
    TrainingJob job;
    const std::uint8_t first = in_.byte();
    if ((first & kPhaseBits) > kLastPhase) in_.fail();
    job.phase = static_cast<TrainingPhase>(first & kPhaseBits);
    job.is_ready = (first & kIsReady) != 0;
    job.is_at_risk = (first & kIsAtRisk) != 0;
    job.is_provisional = (first & kIsProvisional) != 0;
    job.pool = PoolIndex{static_cast<std::uint32_t>(in_.number_up_to(0xffffffff))};
    const std::uint64_t generation = in_.number_up_to(has_energy_ ? 0x1ffffffff : 0xffffffff);
    job.generation = static_cast<std::uint32_t>(has_energy_ ? generation >> 1U : generation);
    if (has_energy_ && (generation & 1U) != 0) {
      job.energy = get_use(in_);
      if (job.energy == schedule::EnergyUse{}) in_.fail();
    }
    const PoolState* pool = training.find_pool(job.pool);
    if (pool == nullptr) in_.fail();
    if ((first & kHasMore) == 0) {
      if (job.is_ready || job.is_at_risk || job.is_provisional) in_.fail();  // it has nothing more
      return job;
    }
    if (in_.has_failed()) return job;
    job.spec = specs_.get(in_, get_spec);
    job.sizes = sizes_.get(in_, get_sizes);
    job.submitted = in_.time();
    job.timeline = get_timeline(*pool->pool);
    job.left = in_.work();
    job.observed_at = in_.time();
    job.ready_at = in_.time();
    job.block = get_block(*pool->pool);
    job.speed_permille = in_.small_integer();
    job.served.since = job.observed_at;
    if (has_service_) {
      job.served.since = in_.time();
      job.served.running = in_.duration();
      job.served.gpu_milliseconds = in_.integer();
    }
    if (has_energy_) {
      job.clock_permille = in_.small_integer();
      job.clocked_millionths = in_.integer();
    }
    if (has_network_) {
      job.links = get_links(in_);
      const auto network = training.network_of(*pool);
      if (job.links != nullptr && (!network || !can_have(*network, job.block, *job.links)))
        in_.fail();
    }
    if (job.spec == nullptr || job.sizes == nullptr) in_.fail();
    if (job.spec != nullptr && training.tenants)
      job.tenant = static_cast<std::uint32_t>(training.tenants->index_of(job.spec->tenant));
    return job;
  }

  static bool are_active_jobs_whole(const TrainingState& training) {
    const auto is_whole = [&](std::uint64_t id) {
      const TrainingJob& job = training.job(JobId{id});
      return job.spec != nullptr && job.sizes != nullptr;
    };
    for (const PoolState& pool : training.pools) {
      for (const JobId job : pool.active) {
        if (job.value > training.jobs.size() || !is_whole(job.value)) return false;
      }
    }
    for (std::uint64_t id = 1; id <= training.jobs.size(); ++id) {
      const TrainingPhase phase = training.job(JobId{id}).phase;
      const bool goes_on = phase == TrainingPhase::waits_for_curve ||
                           phase == TrainingPhase::considered || phase == TrainingPhase::promised ||
                           phase == TrainingPhase::unpromised;
      if (goes_on && !is_whole(id)) return false;
    }
    return true;
  }

  ByteReader in_;
  bool has_service_;
  bool has_tenants_;
  bool has_energy_;
  bool has_payers_;
  bool has_network_;
  SharedReader<Curve> curves_;
  SharedReader<TrainingSpec> specs_;
  SharedReader<SizeTable> sizes_;
};

bool has_tasks(const State& state) {
  return state.nodes.size() > 0 || state.shapes.size() > 0 || !state.queue.empty() ||
         state.jobs.size() != state.training.jobs.size();
}

tl::unexpected<Error> broken(std::string found, std::string expected) {
  Diagnostics details;
  details.add({"", 0, "snapshot", std::move(found), std::move(expected)});
  return tl::unexpected{Error{ErrorCode::failure, std::move(details)}};
}

}  // namespace

std::string write_snapshot(const State& state) {
  const bool is_observed = has_tasks(state);
  if (is_observed && !is_observed_state(state)) return {};
  std::string bytes{kMagic};
  bytes += static_cast<char>(is_observed ? kObserved : kVersion);
  bytes += is_observed ? write_observed(state) : SnapshotWriter{}.write(state);
  const auto checksum = as_bytes(checksum_of(bytes));
  bytes.append(checksum.data(), checksum.size());
  return bytes;
}

Result<State> read_snapshot(std::string_view bytes, const State& initial) {
  if (bytes.size() < kMagic.size() + 1 + kChecksumBytes || !bytes.starts_with(kMagic))
    return broken("something else", "the bytes of a snapshot");
  const auto version = static_cast<std::uint8_t>(bytes[kMagic.size()]);
  if ((version < kWithoutService || version > kVersion) && version != kObserved)
    return broken("of version " + std::to_string(version), "version " + std::to_string(kVersion));
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  const auto checksum = as_bytes(checksum_of(covered));
  if (bytes.substr(covered.size()) != std::string_view{checksum.data(), checksum.size()})
    return broken("damaged", "the checksum it was written with");
  const bool is_for_training = initial.training.is_enabled();
  if (has_tasks(initial) || initial.jobs.size() != 0 || is_for_training == (version == kObserved))
    return broken("for another state", "the state it was written for");

  State state;
  state.layout = initial.layout;
  state.target = initial.target;
  state.target_version = initial.target_version;
  state.learns_target = initial.learns_target;
  state.estimate = initial.estimate;
  state.training.pools = initial.training.pools;
  if (version == kObserved) {
    if (read_observed(covered.substr(kMagic.size() + 1), state)) return state;
    return broken("damaged", "numbers that fit together");
  }
  switch (SnapshotReader{covered.substr(kMagic.size() + 1), version}.read(state)) {
    case SnapshotReader::Problem::none:
      return state;
    case SnapshotReader::Problem::other_cluster:
      return broken("of another cluster", "the pools and nodes the store was made with");
    case SnapshotReader::Problem::damaged:
      break;
  }
  return broken("damaged", "numbers that fit together");
}

}  // namespace weir::control
