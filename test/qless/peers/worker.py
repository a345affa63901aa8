"""A worker of the command-first form: `worker.py URL SCRIPT NAME QUEUE…` pops and completes until it gets SIGTERM.

It is independent of this package. Its first job waits until workers of all kinds have one (the set `kinds`). A job without an earlier attempt,
where its data says so, is given back once.
"""

import json
import signal
import sys
import time

from qless import Qless

KINDS = 3
PAUSE_SECONDS = 0.01


def main(url, path, name, *queues):
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    qless = Qless(url, path, time.time)
    print(json.dumps({"ready": True}), flush=True)
    while not stopping:
        found = [job for queue in queues for job in qless.json("pop", queue, name, 3) or []]
        for job in found:
            work(qless, name, job)
        if not found:
            time.sleep(PAUSE_SECONDS)


def work(qless, name, job):
    qless.redis.sadd("kinds", "python")
    while qless.redis.scard("kinds") < KINDS:
        time.sleep(PAUSE_SECONDS)
    qless("heartbeat", job["jid"], name)
    data = json.loads(job["data"])
    if data["flaky"] and qless.redis.sadd("tried", job["jid"]):
        qless("retry", job["jid"], job["queue"], name, 0, "flaky", "not at first")
        return
    if qless("complete", job["jid"], name, job["queue"], job["data"]) == "complete":
        qless.redis.rpush("done:python", job["jid"])


main(*sys.argv[1:])
