"""GearMonkey jobs in Python 3.9 or newer: a client, and a worker that loses no job when it is killed.

    output = Client("redis://127.0.0.1:6379").call("resize", {"width": 300}, wait=30)

    worker = Worker("redis://127.0.0.1:6379")
    @worker.handler("resize", concurrency=4, retry={"attempts": 3})
    def resize(input, job):
        job.progress(1, 2)  # raises JobStopped once the job has to stop
        return "small.png"
    worker.run()  # until SIGTERM

It needs the package redis, and the folder with the scripts of nestjs-gearmonkey, of the version that the other programs
have: `scripts`, or GEARMONKEY_SCRIPTS. Payloads are JSON. Times are seconds; those in `retry` and `timeout`, ms.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import signal
import threading
import time
import traceback
import uuid
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

import redis

SCRIPTS = os.environ.get("GEARMONKEY_SCRIPTS", "node_modules/nestjs-gearmonkey/dist/gearmonkey/scripts")
PRESENCE_MS, BEAT_SECONDS, MAX_STALLS, MAX_INPUT, MAX_TEXT = 10_000, 2, 3, 1_048_576, 8192
OUTAGE = [redis.exceptions.ConnectionError, redis.exceptions.TimeoutError]
STATES = {"busy": "running", "success": "succeeded", "error": "failed"}
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
Handler = Callable[[Any, "RunningJob"], Any]
log = logging.getLogger("gearmonkey")


class JobFailed(Exception):
    """The job that was waited for has failed, or was cancelled: `job` has its error."""
    def __init__(self, job: Job):
        super().__init__((job.error or {}).get("message", ""))
        self.job = job


class JobStopped(Exception):
    """The job of this handler has to stop. Its argument says why: cancelled, lost, timeout or shutdown."""


class Unrecoverable(Exception):
    """Raise it in a handler to fail the job without another attempt."""


class Job(NamedTuple):
    """A job as it was read. Its state: waiting, scheduled, retrying, running, succeeded, failed or cancelled."""
    id: str
    state: str
    input: Any
    output: Any
    error: Optional[Mapping[str, Any]]
    progress: Optional[tuple[float, float]]
    attempts: int


class Client:
    """Enqueues jobs, waits for them, reads and cancels them. Threads may share it. `patience` is for a server that is gone."""
    def __init__(self, url: str, *, scripts: str = SCRIPTS, patience: float = 5):
        again = {"retry": redis.retry.Retry(redis.backoff.ConstantBackoff(0.1), round(patience * 10)), "retry_on_error": OUTAGE}
        text = {"decode_responses": True, "encoding_errors": "surrogateescape"}
        self.redis = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=1, **again, **text)
        self._folder, self._scripts, self._lock = scripts, {}, threading.Lock()
        self._sender, self._calls = uuid.uuid4().hex, 0

    def script(self, name: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Calls a script of the protocol. All that are used here may be sent twice, so they are after an outage."""
        if name not in self._scripts:
            with open(os.path.join(self._folder, f"{name}.lua"), encoding="utf-8") as file:
                self._scripts[name] = self.redis.register_script(file.read())
        return self._scripts[name](keys, args)

    def enqueue(self, fn: str, input: Any = None, *, priority: str = "normal", delay: Optional[float] = None,
                at: Optional[float] = None, **options: Any) -> str:
        """Creates a job and returns its id. `priority` is high, normal or low; `delay` or a Unix time `at` say when it may run.
        Options: `retry`, {"attempts", "backoff": "fixed" or "exponential", "delay", "max", "jitter"}, `timeout`, `headers`."""
        if priority not in ("high", "normal", "low") or not {"retry", "timeout", "headers"}.issuperset(options):
            raise ValueError(f"Unknown priority or option: {priority}, {', '.join(options)}")
        when = f"+{round(delay * 1000)}" if delay is not None else "" if at is None else f"{at:.3f}"
        queue, mark = f"queue:{fn}:{'scheduled' if when else priority}", random.randint(1, 2**32 - 1) * 1_000_000
        with self._lock:  # A sender's calls are numbered and in order, so that one that is sent twice creates one job.
            self._calls += 1
            keys = [f"uid:{fn}", f"job:{fn}:", queue, f"channel:{fn}", f"wake:{fn}", f"sender:{fn}:{self._sender}"]
            args = [round(time.time() * 1000), self._calls, 3600, mark, when, json.dumps(options) if options else ""]
            return str(self.script("enqueue", keys, [*args, "", json.dumps(input)]))

    def call(self, fn: str, input: Any = None, *, wait: float = 30, **options: Any) -> Any:
        return self.result(fn, self.enqueue(fn, input, **options), wait=wait)

    def result(self, fn: str, id: str, *, wait: float = 30) -> Any:
        """Waits for a job's output. Raises JobFailed, LookupError if there is none, TimeoutError after `wait` seconds."""
        for job in self.watch(fn, id, wait=wait):
            if job.state == "succeeded":
                return job.output
            if job.state in ("failed", "cancelled"):
                raise JobFailed(job)
        raise TimeoutError(f"Job {id} of {fn} did not end within {wait} s. It goes on.")

    def watch(self, fn: str, id: str, *, wait: float = float("inf")) -> Iterator[Job]:
        """Yields the job now and after each change, until it has ended or `wait` seconds are over."""
        deadline, last = time.monotonic() + wait, None
        with self.redis.pubsub(ignore_subscribe_messages=True) as listener:
            listener.subscribe(f"channel:{fn}", f"progress:{fn}")
            while time.monotonic() < deadline:
                last, before = self.get(fn, id), last
                if last != before:
                    yield last
                if last.state in ("succeeded", "failed", "cancelled"):
                    return
                until, message = min(deadline, time.monotonic() + 0.5), None  # Plain workers publish no progress.
                while time.monotonic() < until and not (message and id in message["data"].split(":")[:2]):
                    message = listener.get_message(timeout=max(0.001, until - time.monotonic()))

    def get(self, fn: str, id: str) -> Job:
        """Reads a job. Raises LookupError if there is none."""
        stored = self.redis.hgetall(f"job:{fn}:{id}")
        if "status" not in stored:
            raise LookupError(f"There is no job {id} of {fn}")
        due, retry = float(stored.get("due", 0)), float(stored.get("retry", 0))
        later = ("scheduled" if due >= retry else "retrying") if max(due, retry) > time.time() * 1000 else "waiting"
        waits = "scheduled" if "after" in stored else later
        state = "cancelled" if "cancelled" in stored else STATES.get(stored["status"], waits)
        output, parts = stored.get("output", ""), (stored.get("status:dividend"), stored.get("status:divisor"))
        error = _load(stored["error"]) if "error" in stored else {"name": "Error", "message": output}
        return Job(id, state, _load(stored.get("input", "")), _load(output) if state == "succeeded" else None,
                   error if state in ("failed", "cancelled") else None,
                   (float(parts[0]), float(parts[1])) if all(parts) else None, int(stored.get("attempts", 0)))

    def cancel(self, fn: str, id: str) -> bool:
        """Cancels a job that waits or runs. False if it had ended; raises LookupError, or RuntimeError of a plain worker's."""
        info = json.dumps({"name": "JobCancelledError", "message": "cancelled", "code": "JOB_CANCELLED"})
        keys = [*_keys(fn), f"channel:{fn}", f"cancel:{fn}", f"wake:{fn}"]
        done = self.script("cancel", keys, ["", id, "", "cancelled", info])
        if done in ("missing", "running"):
            raise (LookupError if done == "missing" else RuntimeError)(f"Job {id} of {fn} is {done}")
        return done != "finished"


class RunningJob:
    """What a handler gets beside its input. `attempt` is 1 in the first one, `stopped` why it has to stop, or empty."""
    def __init__(self, client: Client, fn: str, claim: Sequence[str], defaults: Mapping[str, Any]):
        self.fn, self.id, self.input, self._client = fn, claim[0], _load(claim[2]), client
        token, *parts = claim[1].split(":", 4)
        attempts, stalls, _, options = parts or ("1", "0", "0", "")
        own = {**defaults, **_load(options or "{}")}
        self.member, self.attempt = f"{self.id}:{token}", int(attempts) - int(stalls)
        self.headers, self.retry = own.get("headers", {}), own["retry"]
        self.reply = f"reply:{fn}:{own['reply']}" if "reply" in own else ""
        self.deadline = time.monotonic() + own["timeout"] / 1000 if own["timeout"] else float("inf")
        self.stopped, self._stop = "", threading.Event()

    def stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason
        self._stop.set()

    def sleep(self, seconds: float = 0) -> None:
        """Sleeps. Raises JobStopped as soon as the job has to stop; a long handler calls it now and then."""
        if self._stop.wait(seconds):
            raise JobStopped(self.stopped)

    def progress(self, done: float, total: float) -> None:
        """Says that `done` of `total` parts are done. Raises JobStopped once the job has to stop."""
        keys = [f"job:{self.fn}:{self.id}", f"lease:{self.fn}", f"progress:{self.fn}"]
        if not self._client.script("progress", keys, [self.member, done, total]):
            self.stop("lost")
        self.sleep()


class Worker:
    """Runs jobs in threads of this process. A killed worker's jobs run again once their leases have ended."""
    def __init__(self, url: str, *, scripts: str = SCRIPTS, lease: float = 8, shutdown_timeout: float = 10):
        self._client, self._lease, self._shutdown = Client(url, scripts=scripts), round(lease * 1000), shutdown_timeout
        self._name, self._handlers, self._held = str(uuid.uuid4()), {}, {}
        self._stopping, self._closed = threading.Event(), threading.Event()

    def handler(self, fn: str, *, concurrency: int = 1, retry: Mapping[str, Any] = {}, timeout: Optional[int] = None):
        """Makes a function `(input, job)` run jobs. Their own options go before these; `retry` as of `enqueue`."""
        def add(run: Handler) -> Handler:
            self._handlers[fn] = (run, concurrency, {"retry": retry, "timeout": timeout})
            return run
        return add

    def stop(self, *_: Any) -> None:
        """Claims no more jobs. `run` returns once running ones have ended, or were given back after `shutdown_timeout`."""
        self._stopping.set()

    def run(self) -> None:
        """Runs jobs until `stop`, SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ():
            signal.signal(number, self.stop)
        slots = [threading.Thread(target=self._slot, args=(fn, *handler), daemon=True)
                 for fn, handler in self._handlers.items() for _ in range(handler[1])]
        for thread in [*slots, threading.Thread(target=self._keep, daemon=True)]:
            thread.start()
        self._stopping.wait()
        deadline = time.monotonic() + self._shutdown
        for thread in slots:
            thread.join(max(0, deadline - time.monotonic()))
        self._closed.set()
        for job in list(self._held.values()):
            job.stop("shutdown")
            self._claim(job.fn, 0, [job.member, "released", "", ""])
        for fn in self._handlers:
            self._client.script("presence", [f"count:{fn}", f"workers:{fn}"], ["", self._name, 0])

    def _slot(self, fn: str, run: Handler, _: int, defaults: Mapping[str, Any]) -> None:
        outcome: list[Any] = []
        while outcome or not self._stopping.is_set():
            try:
                refused, claim, _dropped, due, *_rest = self._claim(fn, int(not self._stopping.is_set()), outcome)
                outcome = []
                if refused:
                    log.warning("The outcome of %s of %s was refused: its lease had ended", refused[0], fn)
                if claim:
                    outcome = self._execute(run, RunningJob(self._client, fn, claim, defaults))
                elif not self._stopping.is_set():  # The next call finds jobs without a marker, too.
                    self._client.redis.blpop(f"wake:{fn}", min(1, due / 1000) if due > 0 else 1)
            except Exception as error:  # Of the server. What it did not take is sent again.
                log.warning("%s waits: %s", fn, error)
                time.sleep(0.5)

    def _claim(self, fn: str, slots: int, outcome: Sequence[Any]) -> Any:
        keys = [*_keys(fn), f"wake:{fn}", f"channel:{fn}", f"control:{fn}"]
        return self._client.script("claim", keys, ["", self._lease, slots, MAX_STALLS, 1, MAX_INPUT, 0, "", *outcome])

    def _execute(self, run: Handler, job: RunningJob) -> list[Any]:
        self._held[job.member] = job
        try:
            output = json.dumps(run(job.input, job))
            job.sleep()
            return [job.member, "success", output, job.reply if len(output) <= 65_536 else ""]
        except BaseException as error:  # SystemExit of a handler ends its job, not the slot.
            return [] if job.stopped in ("cancelled", "lost", "shutdown") else _failure(job, error)
        finally:
            del self._held[job.member]

    def _keep(self) -> None:
        """Renews leases and presence, and stops jobs that have to stop: at once after a message of a cancellation."""
        listener = self._client.redis.pubsub(ignore_subscribe_messages=True)
        while not self._closed.is_set():
            try:
                if not listener.subscribed:
                    listener.subscribe(*(f"cancel:{fn}" for fn in self._handlers))
                for fn in self._handlers:
                    self._beat(fn)
                listener.get_message(timeout=min(BEAT_SECONDS, self._lease / 4000))
            except redis.exceptions.RedisError:
                time.sleep(0.5)

    def _beat(self, fn: str) -> None:
        self._client.script("presence", [f"count:{fn}", f"workers:{fn}"], ["", self._name, PRESENCE_MS])
        now, held = time.monotonic(), {member: job for member, job in list(self._held.items()) if job.fn == fn}
        for job in held.values():
            if job.deadline <= now:
                job.stop("timeout")
        # Of a handler that does not stop, the lease ends.
        members = [member for member, job in held.items() if job.deadline + 1 > now]
        args = ["", self._lease, self._name, *members]
        for member in self._client.script("renew", [f"lease:{fn}", f"job:{fn}:"], args) if members else ():
            cancelled = self._client.redis.hexists(f"job:{fn}:{held[member].id}", "cancelled")
            held[member].stop("cancelled" if cancelled else "lost")


def _failure(job: RunningJob, error: BaseException) -> list[Any]:
    message = (str(error) or type(error).__name__)[:MAX_TEXT]
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-MAX_TEXT:]
    info = json.dumps({"name": type(error).__name__, "message": message, "stack": stack})
    if isinstance(error, Unrecoverable) or job.attempt >= job.retry.get("attempts", 1):
        return [job.member, "error", message, info]
    first, most = _ms(job.retry.get("delay", 1000)), _ms(job.retry.get("max", 3_600_000))
    wait = min(most, first if job.retry.get("backoff") == "fixed" else first * 2 ** (job.attempt - 1))
    return [job.member, "retry", round(wait * (1 - job.retry.get("jitter", 0.2) * random.random())), info]


def _ms(span: Any) -> float:
    parts = re.fullmatch(r"([\d.]+)\s*(ms|[smhd])\w*", str(span))  # As programs in JavaScript write it: 30s, 5 minutes.
    return float(parts[1]) * UNITS[parts[2]] if parts else float(span)


def _keys(fn: str) -> list[str]:
    queues = (f"queue:{fn}:{name}" for name in ("scheduled", "high", "normal", "low"))
    return [f"job:{fn}:", f"lock:{fn}:", f"lease:{fn}", *queues]


def _load(text: str) -> Any:
    try:  # Input that is not JSON is text.
        return json.loads(text)
    except ValueError:
        return text
