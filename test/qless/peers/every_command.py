"""Every command of the command-first form, once at least, and what it replies: `every_command.py URL SCRIPT`.

Prints the commands that it used as a JSON list.
"""

import json
import sys

from qless import Qless, Refused

DAY = 86_400


class Clock:
    now = 1000

    def __call__(self):
        return self.now


def main(url, path):
    clock = Clock()
    qless = Qless(url, path, clock)
    for part in (putting, working, failing, depending, tagging, recurring, administering, checking):
        qless.redis.flushall()
        clock.now = 1000
        part(qless, clock)
    print(json.dumps(sorted(qless.used)))


def expect(reply, meant):
    if reply != meant:
        raise AssertionError(f"expected {meant!r}, got {reply!r}")


def refused(action, text):
    try:
        reply = action()
    except Refused as error:
        expect(str(error), text)
    else:
        raise AssertionError(f"expected {text!r}, got {reply!r}")


def put(qless, jid, *options, queue="q", delay=0):
    expect(qless("put", "w", queue, jid, "klass", '{"n": 1.50}', delay, *options), jid)


def jids(jobs):
    return [job["jid"] for job in jobs]


def state(qless, jid):
    return qless.json("get", jid)["state"]


def putting(qless, clock):
    put(qless, "low")
    put(qless, "high", "priority", 7, "tags", '["t"]', "retries", 2)
    put(qless, "later", delay=60)
    expect(
        qless.json("get", "high"),
        {
            "jid": "high", "klass": "klass", "state": "waiting", "queue": "q", "worker": "", "tracked": False,
            "priority": 7, "expires": 0, "retries": 2, "remaining": 2, "data": '{"n": 1.50}', "tags": ["t"],
            "history": [{"what": "put", "when": 1000, "q": "q"}], "failure": {}, "spawned_from_jid": False,
            "dependents": {}, "dependencies": {},
        },
    )  # fmt: skip
    expect(qless("get", "nobody"), None)
    expect(jids(qless.json("multiget", "low", "nobody", "high")), ["low", "high"])
    expect(jids(qless.json("peek", "q", 10)), ["high", "low"])
    expect(qless("length", "q"), 3)
    expect(qless("jobs", "scheduled", "q"), ["later"])
    expect(qless("jobs", "waiting", "q"), ["high", "low"])
    expect(qless("requeue", "w", "n", "low", "klass", "{}", 0), "low")
    refused(lambda: qless("requeue", "w", "n", "no", "klass", "{}", 0), "Requeue(): Job no does not exist")
    expect(qless("put.absent", "w", "q", "low", "klass", "{}", 0), None)
    expect(qless("put.absent", "w", "q", "new", "klass", "{}", 0), "new")
    expect(qless("priority", "low", "3.7"), 3)
    refused(lambda: qless("put", "w"), 'Put(): Arg "queue" missing')
    clock.now += 60
    expect(jids(qless.json("peek", "q", 10)), ["high", "new", "later"])


def working(qless, clock):
    for jid in ("a", "b", "c", "d", "e"):
        put(qless, jid)
        clock.now += 1
    job = qless.json("pop", "q", "w", 1)[0]
    expect((job["jid"], job["worker"], job["expires"]), ("a", "w", 1065))
    clock.now += 5
    expect(qless("heartbeat", "a", "w"), 1070)
    expect(qless("log", "a", "half", '{"of": 2}'), None)
    expect(qless.json("get", "a")["history"][-1], {"what": "half", "when": 1010, "of": 2})
    refused(
        lambda: qless("complete", "a", "x", "q", "{}"), "Complete(): Job a has been handed out to another worker: w"
    )
    expect(qless("complete", "a", "w", "q", "{}", "next", "n", "delay", 9), "scheduled")
    expect(jids(qless.json("pop", "q", "w", 3)), ["b", "c", "d"])
    expect(qless.json("queues", "q")["running"], 3)
    expect(qless("retry", "b", "q", "w", 30), 4)
    expect(qless("timeout", "c"), None)
    expect(state(qless, "c"), "stalled")
    expect(
        qless("complete.many", "w", "q", "d", "[]", "c", "[]"),
        ["complete", "Complete(): Job c is not currently running: stalled"],
    )
    expect(qless("jobs", "complete"), ["d"])
    expect(jids(qless.json("pop", "q", "x", 9)), ["c", "e"])
    expect(qless.json("workers"), [{"name": "x", "jobs": 2, "stalled": 0}, {"name": "w", "jobs": 0, "stalled": 0}])
    expect(qless("worker.deregister", "w"), None)
    expect(sorted(qless.json("workers", "x")["jobs"]), ["c", "e"])
    clock.now += 100
    expect(qless("jobs", "stalled", "q"), ["c", "e"])
    expect(jids(qless.json("pop", "q", "y", 9)), ["b"])
    stats = qless.json("stats", "q", 0)
    expect((stats["retries"], stats["run"]["count"], stats["wait"]["count"]), (2, 2, 7))
    expect(len(stats["wait"]["histogram"]), 148)


def failing(qless, clock):
    put(qless, "a")
    qless("pop", "q", "w", 1)
    expect(qless("fail", "a", "w", "group", "message", '{"n": 2}'), "a")
    failure = {"group": "group", "message": "message", "when": 1000, "worker": "w"}
    expect(qless.json("get", "a")["failure"], failure)
    expect(qless.json("failed"), {"group": 1})
    expect(qless.json("failed", "group"), {"total": 1, "jobs": ["a"]})
    expect(qless("unfail", "q", "group"), 1)
    expect(state(qless, "a"), "waiting")
    expect(qless.json("failed"), {})
    expect(qless("cancel", "a", "nobody"), ["a", "nobody"])
    expect(qless("get", "a"), None)


def depending(qless, clock):
    put(qless, "a")
    put(qless, "b", "depends", '["a"]')
    put(qless, "c", "depends", '["a"]')
    expect(qless("depends", "b", "on", "c"), 1)
    expect(sorted(qless.json("get", "b")["dependencies"]), ["a", "c"])
    clock.now += 1
    expect(qless("depends", "b", "off", "a"), 1)
    expect(qless("depends", "b", "off", "all"), 1)
    refused(
        lambda: qless("depends", "b", "on", "a"), "Depends(): Job b not in the depends state: waiting"
    )
    refused(
        lambda: qless("cancel", "a"), "Cancel(): a is a dependency of c but is not mentioned to be canceled"
    )
    expect(jids(qless.json("pop", "q", "w", 1)), ["a"])
    expect(qless("complete", "a", "w", "q", "{}"), "complete")
    expect(state(qless, "c"), "waiting")


def tagging(qless, clock):
    put(qless, "a")
    clock.now += 1
    put(qless, "b", "tags", '["t"]')
    expect(qless.json("tag", "add", "a", "t", "u"), ["t", "u"])
    expect(qless.json("tag", "get", "t"), {"total": 2, "jobs": ["a", "b"]})
    expect(qless.json("tag", "top"), ["t"])
    expect(qless.json("tag", "remove", "a", "t"), ["u"])
    listener = qless.redis.pubsub(ignore_subscribe_messages=True)
    listener.psubscribe("ql:*")
    listener.get_message(timeout=5)
    expect(qless("track", "track", "a"), "1")
    expect(jids(qless.json("track")["jobs"]), ["a"])
    qless("pop", "q", "w", 1)
    expect(qless("track", "untrack", "a"), "1")
    heard = [message_of(listener) for _ in range(3)]
    expect(heard, [("ql:track", "a"), ("ql:popped", "a"), ("ql:untrack", "a")])
    listener.close()


def message_of(listener):
    # Without a message there may have been the answer to a subscription.
    message = listener.get_message(timeout=5) or listener.get_message(timeout=5)
    return message["channel"], message["data"]


def recurring(qless, clock):
    expect(qless("recur", "q", "r", "klass", "{}", "interval", 60, 0, "tags", '["t"]'), "r")
    expect(qless("jobs", "recurring", "q"), ["r"])
    clock.now += 130
    expect(jids(qless.json("pop", "q", "w", 9)), ["r-1", "r-2", "r-3"])
    expect(qless("recur.update", "r", "interval", 10, "queue", "n"), 1)
    expect(qless.json("recur.tag", "r", "u"), ["t", "u"])
    expect(qless.json("recur.untag", "r", "t"), ["u"])
    expect(
        qless.json("recur.get", "r"),
        {
            "jid": "r", "klass": "klass", "state": "recur", "queue": "n", "priority": 0, "interval": 10,
            "retries": 0, "count": 3, "data": "{}", "tags": ["u"], "backlog": 0,
        },
    )  # fmt: skip
    expect(qless("unrecur", "r"), 1)
    expect(qless("recur.get", "r"), None)


def administering(qless, clock):
    expect(qless("config.get", "heartbeat"), 60)
    expect(qless("config.set", "heartbeat", 5), None)
    expect(qless("config.get", "heartbeat"), "5")
    expect(qless("config.unset", "heartbeat"), None)
    defaults = {
        "application": "qless", "heartbeat": 60, "grace-period": 10, "stats-history": 30, "histogram-history": 7,
        "jobs-history-count": 50000, "jobs-history": 604800,
    }  # fmt: skip
    expect(qless.json("config.get"), defaults)
    put(qless, "a")
    expect(qless("pause", "q"), None)
    expect(qless.json("pop", "q", "w", 1), {})
    expect(qless.json("queues")[0]["paused"], True)
    expect(qless("unpause", "q"), None)
    expect(jids(qless.json("pop", "q", "w", 1)), ["a"])
    expect(qless("queue.forget", "q"), None)
    expect(qless.json("queues"), {})


def checking(qless, clock):
    put(qless, "a")
    qless.redis.delete("ql:j:a")
    problem = {"what": "job is gone", "key": "ql:q:q-work", "id": "a"}
    expect(qless.json("consistency.check"), {"checked": 1, "problems": [problem], "cursor": ""})
    expect(qless.json("consistency.check", "resolve")["problems"], [problem])
    expect(qless.json("consistency.check")["problems"], {})
    refused(lambda: qless("jump"), "Unknown command jump")


main(*sys.argv[1:])
