"""
How many workers should feed the queue? A controller for an asyncio worker pool
===============================================================================

Workers fetch pages and put them into a bounded queue; one server works it off. Too few workers starve the
server, too many lose pages to a full queue. Real coroutines run here for some seconds, under a fixed number
of workers, under additive increase with multiplicative decrease, and under `RobotController`, which learns
both rates as it goes. So short a run's costs move by several units from one run to the next.
"""

import asyncio

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import RobotController, mm1k_cost, solve_robot_control

N, K = 16, 6  # workers, places in the queue with the page in service
FETCH, SERVICE = 0.08, 0.01  # mean times in seconds: eight workers bring as much as the server can take
LAM, MU = 1 / FETCH, 1 / SERVICE
STARVATION = MU * (K + 2) / K  # cost of an idle second; a lost page costs 1
WARM_UP, SECONDS = 1.5, 7.5


# %%
# The pool. After each arrival and each departure the policy says how many workers should be active.
class Pool:
    def __init__(self, policy, seed):
        self.policy, self.rng = policy, np.random.default_rng(seed)
        self.active = self.pages = self.lost = 0
        self.idle, self.empty_since, self.log, self.tasks = 0.0, None, [], set()

    async def run(self):
        self.clock, self.queue = asyncio.get_running_loop().time, asyncio.Queue()
        self.empty_since = self.clock()
        server = asyncio.create_task(self.serve())
        self.adjust(lost=False)
        await asyncio.sleep(WARM_UP)
        self.count_idle()
        lost, idle, start = self.lost, self.idle, self.clock()
        await asyncio.sleep(SECONDS)
        self.count_idle()
        time = self.clock() - start
        for task in (server, *self.tasks):
            task.cancel()
        return (STARVATION * (self.idle - idle) + self.lost - lost) / time

    def count_idle(self):
        if self.empty_since is not None:
            now = self.clock()
            self.idle, self.empty_since = self.idle + now - self.empty_since, now

    def adjust(self, lost):
        target = min(self.policy.wanted(self.pages, self.active, lost), N)
        while self.active < target:
            self.active += 1
            task = asyncio.create_task(self.fetch())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def fetch(self):
        began = self.clock()
        await asyncio.sleep(self.rng.exponential(FETCH))
        self.active -= 1
        lost = self.pages == K
        if lost:
            self.lost += 1
            self.log.append((self.clock() - began, np.nan))
        else:
            self.count_idle()
            self.empty_since = None
            self.pages += 1
            self.queue.put_nowait(self.clock() - began)
        self.adjust(lost)

    async def serve(self):
        while True:
            fetched = await self.queue.get()
            began = self.clock()
            await asyncio.sleep(self.rng.exponential(SERVICE))
            self.log.append((fetched, self.clock() - began))
            self.pages -= 1
            if self.pages == 0:
                self.empty_since = self.clock()
            self.adjust(lost=False)


# %%
# The policies.
class Fixed:
    def __init__(self, n):
        self.n = n

    def wanted(self, pages, active, lost):
        return self.n


class AdditiveIncrease:
    window = 1.0

    def wanted(self, pages, active, lost):
        self.window = max(self.window / 2, 1.0) if lost else min(self.window + 1 / self.window, N)
        return int(self.window)


class Controlled:
    """Starts with half of the workers; learns from the log after every fifty pages."""

    def __init__(self):
        self.controller = RobotController(N, K, STARVATION, half_life=1000)
        self.seen, self.pool = 0, None

    def wanted(self, pages, active, lost):
        if len(self.pool.log) >= self.seen + 50:
            self.controller.partial_fit(self.pool.log[self.seen :])
            self.seen = len(self.pool.log)
        return self.controller.allocate(pages, active) if self.seen else N // 2


async def compare(numbers):
    controlled = Controlled()
    policies = [*(Fixed(n) for n in numbers), AdditiveIncrease(), controlled]
    pools = [Pool(policy, seed) for seed, policy in enumerate(policies)]
    controlled.pool = pools[-1]
    return await asyncio.gather(*(pool.run() for pool in pools)), controlled.controller


# %%
# All pools run side by side, each with its own queue and server.
numbers = np.array([4, 6, 7, 8, 9, 10, 12, 16])
(*fixed, additive, controlled), controller = asyncio.run(compare(numbers))
print(f"true rates {LAM:.1f} and {MU:.1f} per second, learnt with the event loop's own delays: "
      f"{controller.arrival_rate_:.1f} and {controller.service_rate_:.1f}")  # fmt: skip
print(f"cost per second: best fixed number {min(fixed):.1f}, additive increase {additive:.1f}, "
      f"controller {controlled:.1f}")  # fmt: skip

# %%
# The controller's pool, beside the others and beside what queueing theory says of exponential times at the rates
# learnt. (The event loop's delays make both rates smaller than those asked of `sleep`, the service rate more so.)
lam, mu = controller.arrival_rate_, controller.service_rate_
fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
n = np.arange(3, N + 1)
ax.plot(n, mm1k_cost(n * lam / mu, K, STARVATION, mu), color="0.6", label="fixed number, theory at the rates learnt")
ax.plot(numbers, fixed, "o", color="C0", label="fixed number, this pool")
ax.axhline(additive, color="C1", linestyle="--", label="additive increase, multiplicative decrease, this pool")
ax.axhline(controlled, color="C2", label="RobotController, this pool")
gain = solve_robot_control(N, K, lam, STARVATION, mu).gain
ax.axhline(gain, color="C2", linestyle=":", label="optimal control, theory at the rates learnt")
ax.set(xlabel="workers", ylabel="cost per second (idle server, lost pages)", ylim=(0, None))
ax.legend(loc="upper center")
plt.show()
