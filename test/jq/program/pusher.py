"""A pusher written from the contract alone: standard library HTTP and msgpack.

pusher.py URL COUNT: enqueues COUNT jobs, polls each to its end, prints a line of JSON for each.
It goes on through a master that is gone for a while.
"""
import http.client
import json
import sys
import time
import urllib.parse

import msgpack

url = urllib.parse.urlparse(sys.argv[1])


def call(method, path, body=None):
    while True:
        try:
            connection = http.client.HTTPConnection(url.hostname, url.port, timeout=70)
            headers = {"Content-Type": "application/msgpack"} if body is not None else {}
            connection.request(method, path, None if body is None else msgpack.packb(body), headers)
            response = connection.getresponse()
            data = response.read()
            connection.close()
            return response.status, msgpack.unpackb(data) if data else None
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)


ids = []
for number in range(int(sys.argv[2])):
    job = {"name": "double", "argument": {"n": number, "f": 1.0}, "keep_result": True, "max_retry": 5}
    status, reply = call("POST", "/job", job)
    assert status == 201, (status, reply)
    ids.append(reply["job_id"])
print(json.dumps({"enqueued": ids}), flush=True)

for number, job_id in enumerate(ids):
    while True:
        status, reply = call("GET", f"/job/{job_id}/polling?timeout=5")
        if status not in (408, 503):
            break
    print(json.dumps({"status": status, "n": number, "job": reply, "float": repr(reply.get("result"))}), flush=True)
