"""Simulate 1,000 workers on one shared store: whether it is correct, and its load.

    python benchmarks/workers.py [--workers 1000] [--requests 200000] [--seed 0]

Events, no processes: what a worker and the database do is modelled with the constants and the
batches of `harness.extras.cluster`. Two runs ask for the same requests, each with half of the
workers; workers die at random and others take their places.

Assumptions: an exchange with the database takes 1 to 5 ms and happens at one moment; it is never
away (the tests of the group `cluster` see to that); calls take 0.5 to 3 s; replies are stored one
by one, where real workers join those that arrive together.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from collections import Counter, deque
from contextlib import suppress
from itertools import count

from yardstick import report

from harness.extras.cluster.shared_limits import AHEAD_S
from harness.extras.cluster.shared_store import ALLOWANCES
from harness.extras.cluster.worker_lease import LEASE_MARGIN_S, RENEW_EVERY_S
from harness.judging.running.asker import LOOKUP_BATCH
from harness.judging.running.rate_limit import BURST_S, WINDOW_S

SLOTS = 8  # calls in flight of a worker
DEADLINE_S = 30.0
LEASE_S = DEADLINE_S + LEASE_MARGIN_S
WAIT_S = 1.0  # between claims of what others hold
MOST_USD, MEAN_USD = 0.002, 0.001  # of a call
LIVES_S = 600.0  # mean life of a worker


class Database:
    """Leases, locks, replies, one rate and a budget per run; each method is one exchange."""

    def __init__(self, per_minute, limit_usd):
        self.leases, self.locks, self.replies = {}, {}, set()
        self.interval_s = (WINDOW_S + BURST_S) / per_minute
        self.next_s = 0.0
        self.room_usd = dict.fromkeys(range(2), limit_usd)
        self.exchanges = Counter()

    def renew(self, now, worker):
        self.exchanges["renew"] += 1
        self.leases[worker] = now + LEASE_S

    def claim(self, now, worker, requests):
        """Return the granted requests; what has a reply counts as granted."""
        self.exchanges["claim"] += 1
        granted = []
        for request in requests:
            holder = self.locks.get(request)
            if request in self.replies or holder is None or self.leases[holder] < now:
                granted.append(request)
                if request not in self.replies:
                    self.locks[request] = worker
        return granted

    def store(self, request):
        self.exchanges["store"] += 1
        self.replies.add(request)
        self.locks.pop(request, None)

    def take_rate(self, now, n):
        self.exchanges["rate"] += 1
        begins_s = max(self.next_s, now)
        self.next_s = begins_s + n * self.interval_s
        return begins_s

    def take_budget(self, run, worker, returned_usd):
        self.exchanges["budget"] += 1
        room_usd = self.room_usd[run] + returned_usd
        allowance_usd = max(MOST_USD, room_usd / ALLOWANCES) if room_usd >= MOST_USD else 0.0
        self.room_usd[run] = room_usd - allowance_usd
        return allowance_usd


class Simulation:
    """Workers as generators that yield the seconds until they go on."""

    def __init__(self, options):
        self.random = random.Random(options.seed)
        self.database = Database(options.per_minute, options.limit)
        self.todo = [deque(range(options.requests)) for _ in range(2)]
        self.n_done, self.n_deaths = [0, 0], 0
        self.begun, self.spent_usd, self.lost = [], [0.0, 0.0], Counter()
        self.paid = Counter()
        self.order, self.events, self.now, self.names = count(), [], 0.0, count()
        self.n_requests = options.requests
        for i in range(options.workers):
            self.hire(i % 2)

    def start(self, generator, after_s=0.0):
        heapq.heappush(self.events, (self.now + after_s, next(self.order), generator))

    def hire(self, run):
        worker = Worker(self, run, next(self.names))
        self.database.renew(self.now, worker.name)
        self.start(worker.live())
        for _ in range(SLOTS):
            self.start(worker.ask_on(), self.random.random())

    def exchange_s(self):
        return self.random.uniform(0.001, 0.005)

    def run(self):
        while self.events:
            self.now, _, generator = heapq.heappop(self.events)
            with suppress(StopIteration):
                self.start(generator, next(generator))


class Worker:
    """One worker: its lease, what it has claimed, its shares of rate and budget."""

    def __init__(self, simulation, run, name):
        self.simulation, self.run, self.name = simulation, run, name
        self.alive = True
        self.claimed, self.starts, self.allowance_usd = deque(), deque(), 0.0
        self.held_back = []  # claimed in vain
        self.asked, self.in_flight = set(), set()  # begun by a slot; sent and not stored
        self.busy = False
        self.spent = False

    @property
    def over(self):
        return self.spent or self.simulation.n_done[self.run] >= self.simulation.n_requests

    def live(self):
        simulation = self.simulation
        dies_s = simulation.now + simulation.random.expovariate(1 / LIVES_S)
        while not self.over:
            if simulation.now >= dies_s:
                self.die()
                return
            yield RENEW_EVERY_S
            simulation.database.renew(simulation.now, self.name)

    def die(self):
        """Lose the calls in flight; the run hands the rest to others, who wait for the lease."""
        self.alive = False
        simulation = self.simulation
        simulation.n_deaths += 1
        simulation.lost.update(self.in_flight)
        simulation.todo[self.run].extend({*self.claimed, *self.held_back, *self.asked})
        simulation.hire(self.run)

    def ask_on(self):
        simulation, database = self.simulation, self.simulation.database
        while self.alive and not self.over:
            if not self.claimed:
                yield from self.claim()
                continue
            request = self.claimed.popleft()
            if request in database.replies:
                simulation.n_done[self.run] += 1
                continue
            self.asked.add(request)
            yield from self.call(request)
            self.asked.discard(request)

    def claim(self):
        simulation = self.simulation
        if self.busy:
            yield 0.05
            return
        self.busy = True
        todo = simulation.todo[self.run]
        batch = [todo.popleft() for _ in range(min(LOOKUP_BATCH, len(todo)))]
        if not batch:
            batch, self.held_back = self.held_back, []
            yield WAIT_S
        yield simulation.exchange_s()
        if self.alive:
            granted = simulation.database.claim(simulation.now, self.name, batch)
            self.claimed.extend(granted)
            self.held_back += set(batch) - set(granted)
        else:
            todo.extend(batch)
        self.busy = False

    def call(self, request):
        simulation, database = self.simulation, self.simulation.database
        while not self.starts:
            n = max(1, min(SLOTS, int(AHEAD_S / database.interval_s)))
            yield simulation.exchange_s()
            begins_s = database.take_rate(simulation.now, n)
            self.starts.extend(begins_s + i * database.interval_s for i in range(n))
        begins_s = self.starts.popleft()
        yield max(0.0, begins_s - simulation.now)
        if simulation.now - begins_s >= BURST_S:
            self.claimed.appendleft(request)
            return
        if self.allowance_usd < MOST_USD:
            yield simulation.exchange_s()
            returned_usd, self.allowance_usd = self.allowance_usd, 0.0
            self.allowance_usd = database.take_budget(self.run, self.name, returned_usd)
        if self.allowance_usd < MOST_USD or not self.alive:
            self.spent = self.alive
            return
        cost_usd = simulation.random.uniform(0, 2 * MEAN_USD)
        self.allowance_usd -= cost_usd
        simulation.begun.append(simulation.now)
        simulation.paid[request] += 1
        self.in_flight.add(request)
        simulation.spent_usd[self.run] += cost_usd
        yield simulation.random.uniform(0.5, 3.0)
        if self.alive:
            yield simulation.exchange_s()
            database.store(request)
            self.in_flight.discard(request)
            simulation.n_done[self.run] += 1


def most_in_a_minute(begun):
    """Return the most calls that began within any minute."""
    begun.sort()
    first = most = 0
    for last, at_s in enumerate(begun):
        while begun[first] <= at_s - WINDOW_S:
            first += 1
        most = max(most, last - first + 1)
    return most


def main() -> None:
    """Simulate, print the load and whether every promise was kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--per-minute", type=float, default=120_000)
    parser.add_argument("--limit", type=float, default=1e9, help="USD of each run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    simulation = Simulation(options)
    simulation.run()
    print(
        f"{options.workers} workers, {options.requests} requests, {simulation.now:.0f} s simulated"
    )
    for name, n in simulation.database.exchanges.most_common():
        print(f"  {name}: {n / simulation.now:.0f} exchanges/s")
    print(f"{simulation.n_deaths} workers died, with {simulation.lost.total()} calls in flight")
    repeats = sum(max(0, n - 1 - simulation.lost[r]) for r, n in simulation.paid.items())
    limit = f"USD {options.limit:g} of a run"
    holds = report("paid again, but for calls in flight at a death", repeats, 0, at_least=False)
    most = most_in_a_minute(simulation.begun)
    holds &= report("most calls in a minute", most, options.per_minute, at_least=False)
    spent_usd = max(simulation.spent_usd)
    if spent_usd < options.limit / 2:
        n_missing = options.requests - len(simulation.database.replies)
        holds &= report("requests without a reply", n_missing, 0, at_least=False)
    holds &= report(f"most spent of {limit}", spent_usd, options.limit, at_least=False)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
