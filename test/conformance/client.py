"""A plain GearMonkey client, written from the protocol's specification alone.

Prints a JSON line {"id"} for each job it creates, and when blocking a second one, {"id", "job", "lock"}.
A byte that is not UTF-8 shows as the lone surrogate U+DC80..U+DCFF (Python's surrogateescape).
Exits with 3 when the roll call finds no worker.
"""

import argparse
import json
import os
import sys
import time

import redis

NO_WORKERS = 3
PATIENCE_SECONDS = 0.1


def main():
    args = parse_arguments()
    server = redis.Redis.from_url(args.url)
    payload = sys.stdin.buffer.read() if args.input == "-" else os.fsencode(args.input)
    for _ in range(args.count):
        time.sleep(args.pause)
        try:
            run(server, args, payload)
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            if not args.patient:
                raise
            time.sleep(PATIENCE_SECONDS)


def run(server, args, payload):
    if args.rollcall and count_workers(server, args.fn) < 1:
        say({"error": "no workers"})
        sys.exit(NO_WORKERS)
    job_id = create(server, args, payload)
    say({"id": job_id})
    if args.blocking:
        lock = server.execute_command("BRPOP", f"lock:{args.fn}:{job_id}", args.timeout)
        job = server.execute_command("HGETALL", f"job:{args.fn}:{job_id}")
        say({"id": job_id, "job": text(job), "lock": text(lock)})


def parse_arguments():
    parser = argparse.ArgumentParser(description="Creates GearMonkey jobs.")
    parser.add_argument("url")
    parser.add_argument("fn")
    parser.add_argument("input", help="the payload, or - for the bytes of stdin")
    parser.add_argument("--prio", choices=["low", "normal", "high", "scheduled"])
    parser.add_argument("--scheduled", metavar="TS", help="Unix time in seconds; implies --prio scheduled")
    parser.add_argument("--blocking", action="store_true")
    parser.add_argument("--rollcall", action="store_true")
    parser.add_argument("--timeout", type=int, default=10, metavar="S", help="of --blocking; 0 waits forever")
    parser.add_argument("--pause", type=float, default=0, metavar="S", help="before each job")
    parser.add_argument("--patient", action="store_true", help="go on after an outage, with the next job")
    parser.add_argument("--count", type=int, default=1, metavar="N")
    args = parser.parse_args()
    if args.prio is None:
        args.prio = "normal" if args.scheduled is None else "scheduled"
    if (args.prio == "scheduled") != (args.scheduled is not None):
        parser.error("--prio scheduled and --scheduled TS go together")
    return args


def count_workers(server, fn):
    """Anything but an integer counts as no worker."""
    try:
        return int(server.execute_command("GET", f"count:{fn}"))
    except (TypeError, ValueError):
        return 0


def create(server, args, payload):
    fn = args.fn
    job_id = server.execute_command("INCR", f"uid:{fn}")
    server.execute_command("HMSET", f"job:{fn}:{job_id}", "status", "idle", "input", payload)
    server.execute_command("PUBLISH", f"channel:{fn}", f"create:{job_id}")
    if args.prio == "scheduled":
        server.execute_command("ZADD", f"queue:{fn}:{args.prio}", args.scheduled, job_id)
    else:
        server.execute_command("LPUSH", f"queue:{fn}:{args.prio}", job_id)
    return job_id


def text(reply):
    if isinstance(reply, bytes):
        return reply.decode("utf-8", "surrogateescape")
    if isinstance(reply, dict):
        return {text(field): text(value) for field, value in reply.items()}
    if isinstance(reply, (list, tuple)):
        return [text(item) for item in reply]
    return reply


def say(line):
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
