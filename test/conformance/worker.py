"""A plain GearMonkey worker, written from the protocol's specification alone. Its work: input in upper case.

Prints JSON lines: {"ready": true} once it is counted, then {"started": id} and {"finished": id, "input"}
for each job; a patient one also {"again": words} for what it had to send more than once.
A byte that is not UTF-8 shows as the lone surrogate U+DC80..U+DCFF (Python's surrogateescape).
SIGTERM ends it after the job or the BRPOP at hand, so within about a second when idle.
"""

import argparse
import json
import signal
import time

import redis

# The published SHA-1 is that of the text with two spaces before `item[1] }`.
SCRIPT = (
    "local item = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 1); "
    "if (#item > 0) then redis.call('ZREM', KEYS[1], item[1]); return { KEYS[1],  item[1] }; end"
)
SHA = "5231827cd49b540660ef44969b38cc858f157824"

PAUSE_SECONDS = 0.02


class Worker:
    def __init__(self, args):
        self.args = args
        self.fn = args.fn
        self.server = redis.Redis.from_url(args.url)
        self.stopping = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.stopping = True

    def run(self):
        sha = self.command("SCRIPT LOAD", SCRIPT)
        if text(sha) != SHA:
            raise SystemExit(f"Expected SCRIPT LOAD to answer {SHA}, got {text(sha)}")
        self.command("INCR", f"count:{self.fn}")
        try:
            say({"ready": True})
            self.loop()
        finally:
            self.command("DECR", f"count:{self.fn}")

    def loop(self):
        done = 0
        while not self.stopping and done != self.args.max_jobs:
            job_id = self.next()
            if job_id is not None:
                self.handle(job_id)
                done += 1

    def command(self, *words):
        """A patient worker asks again through an outage, and says so: what it asked may have been done."""
        told = False
        while True:
            try:
                return self.server.execute_command(*words)
            except redis.exceptions.NoScriptError:
                self.command("SCRIPT LOAD", SCRIPT)
            except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
                if not self.args.patient:
                    raise
                if not told:
                    say({"again": [text(word) for word in words[:3]]})
                told = True
                time.sleep(PAUSE_SECONDS)

    def next(self):
        queue = f"queue:{self.fn}"
        item = self.command("EVALSHA", SHA, 1, f"{queue}:scheduled", int(time.time()))
        if item is None:
            item = self.command("BRPOP", f"{queue}:high", f"{queue}:normal", f"{queue}:low", 1)
        return None if item is None else text(item[1])

    def handle(self, job_id):
        job = f"job:{self.fn}:{job_id}"
        self.command("PUBLISH", f"channel:{self.fn}", f"start:{job_id}")
        self.command("HMSET", job, "status", "busy")
        say({"started": int(job_id)})
        self.hang()
        # The specification names no command for reading the input. A job that is gone has an empty one.
        payload = self.command("HGET", job, "input") or b""
        self.update(job)
        self.finish(job_id, job, payload)
        say({"finished": int(job_id), "input": text(payload)})

    def hang(self):
        if not self.args.hang:
            return
        while not self.stopping:
            time.sleep(PAUSE_SECONDS)
        raise Abandoned

    def update(self, job):
        for dividend in range(1, self.args.updates + 1):
            self.command("HMSET", job, "status:dividend", dividend, "status:divisor", self.args.updates)
            time.sleep(PAUSE_SECONDS)

    def finish(self, job_id, job, payload):
        status, output = ("success", payload.upper()) if self.args.fail is None else ("error", self.args.fail)
        lock = f"lock:{self.fn}:{job_id}"
        self.command("HMSET", job, "status", status, "output", output)
        self.command("EXPIRE", job, 90000)
        self.command("PUBLISH", f"channel:{self.fn}", f"finish:{job_id}")
        self.command("LPUSH", lock, "OK")
        self.command("EXPIRE", lock, 10)


class Abandoned(Exception):
    """Told to stop while hanging in a job."""


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs GearMonkey jobs.")
    parser.add_argument("url")
    parser.add_argument("fn")
    parser.add_argument("--updates", type=int, default=0, metavar="N", help="progress updates of each job")
    parser.add_argument("--fail", metavar="MESSAGE", help="end each job as an error with this output")
    parser.add_argument("--max-jobs", type=int, metavar="N", help="exit after so many jobs")
    parser.add_argument("--patient", action="store_true", help="wait through outages of the server")
    parser.add_argument("--hang", action="store_true", help="take a job and never finish it")
    return parser.parse_args()


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def say(line):
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    try:
        Worker(parse_arguments()).run()
    except Abandoned:
        pass
