"""qless as its command-first form is described, and nothing else: EVALSHA sha 0 command now arguments."""

import json
import re

import redis


class Refused(Exception):
    """What the script raised, without where it did."""


class Qless:
    def __init__(self, url, path, clock):
        self.redis = redis.Redis.from_url(url, decode_responses=True)
        with open(path, encoding="utf-8") as script:
            self.sha = self.redis.script_load(script.read())
        self.clock = clock
        self.used = set()

    def __call__(self, command, *args):
        self.used.add(command)
        try:
            return self.redis.evalsha(self.sha, 0, command, self.clock(), *args)
        except redis.ResponseError as error:
            found = re.search(r"user_script:\d+: (.*?)(?: script: \w+, on @user_script.*)?$", str(error), re.S)
            raise Refused(found.group(1) if found else str(error)) from None

    def json(self, command, *args):
        return json.loads(self(command, *args))
