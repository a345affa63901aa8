"""Puts jobs with the command-first form: `producer.py URL SCRIPT QUEUE JID…`; those whose number four divides are flaky."""

import json
import sys
import time

from qless import Qless


def main(url, path, queue, *jids):
    qless = Qless(url, path, time.time)
    for jid in jids:
        data = json.dumps({"jid": jid, "flaky": int(jid.split("-")[1]) % 4 == 0})
        if qless("put", "producer", queue, jid, "Job", data, 0) != jid:
            raise AssertionError(jid)


main(*sys.argv[1:])
