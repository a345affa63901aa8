"""A worker written from the contract alone: standard library HTTP and msgpack.

worker.py URL MAX_JOBS: serves POST /worker-job, reports to POST /done, prints a line of JSON for each job.
The master has no way to learn the address from the contract alone, so it is given as `url`.
"""
import http.client
import http.server
import json
import sys
import threading
import time
import urllib.parse

import msgpack

master = urllib.parse.urlparse(sys.argv[1])
worker_id = None
registered = threading.Event()
printing = threading.Lock()


def call(method, path, body, headers=()):
    while True:
        try:
            connection = http.client.HTTPConnection(master.hostname, master.port, timeout=10)
            connection.request(method, path, msgpack.packb(body), dict(headers))
            response = connection.getresponse()
            data = response.read()
            connection.close()
            if response.status != 503:
                return response.status, msgpack.unpackb(data) if data else None
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.05)


def say(line):
    with printing:
        print(json.dumps(line), flush=True)


def run(job):
    registered.wait()
    result = [job["argument"]["n"] * 2, job["argument"]["f"]]
    report = {"job_id": job["id"], "type": "success", "result": result}
    status, _ = call("POST", "/done", report, {"worker-id": worker_id}.items())
    say({"ran": job["id"], "status": status})


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = msgpack.unpackb(self.rfile.read(int(self.headers["Content-Length"])))
        if not isinstance(body, dict):
            say({"strange": repr(body)})
        known = self.path == "/worker-job" and body["name"] == "double"
        self.send_response(202 if known else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if known:
            threading.Thread(target=run, args=(body,), daemon=True).start()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
registration = {"name": "python", "max_jobs": int(sys.argv[2]), "url": f"http://127.0.0.1:{server.server_port}/"}
status, reply = call("POST", "/worker", registration)
assert status == 201 and list(reply) == ["worker_id"], (status, reply)
worker_id = reply["worker_id"]
registered.set()
say({"worker": worker_id})
while True:
    time.sleep(60)
