import { fileURLToPath } from 'node:url';
import { TestProcess } from '../support/test-process.js';

const folder = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const SCRIPTS = folder('dist/gearmonkey/scripts');

/** A language whose client and worker are in clients/. */
export interface Language {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** A worker: `[input, attempt, headers]`, or what the input names. It prints why its job has to stop. */
  readonly worker: string;
  /** A client, that prints a line of JSON for each thing that it has done. */
  readonly client: string;
}

const PYTHON: Language = {
  name: 'Python',
  command: '/usr/bin/python3',
  args: ['-'],
  worker: `
import os, sys
sys.path.insert(0, ${JSON.stringify(folder('clients/python'))})
sys.dont_write_bytecode = True
from gearmonkey import JobStopped, Unrecoverable, Worker
worker = Worker(os.environ["REDIS_URL"], lease=1, shutdown_timeout=0.2)
@worker.handler(os.environ["FN"], concurrency=2, retry={"attempts": 2, "delay": 20, "jitter": 0})
def handle(input, job):
    if input == "fail":
        raise ValueError(f"attempt {job.attempt}")
    if input == "hopeless":
        raise Unrecoverable("never")
    try:
        for done in range(1, 2000 if input == "slow" and job.attempt == 1 else 1):
            job.progress(done, 2000)
            job.sleep(0.02)
    except JobStopped as stopped:
        print(stopped, flush=True)
        raise
    return [input, job.attempt, job.headers]
worker.run()
`,
  client: `
import json, os, sys, time
sys.path.insert(0, ${JSON.stringify(folder('clients/python'))})
sys.dont_write_bytecode = True
from gearmonkey import Client, JobFailed
client, fn = Client(os.environ["REDIS_URL"]), os.environ["FN"]
say = lambda *line: print(json.dumps(line), flush=True)
say(client.call(fn, {"name": "Zoë"}, priority="high", headers={"tenant": "acme"}))
try:
    client.call(fn, "fail", retry={"attempts": 3, "delay": 10, "backoff": "fixed"})
except JobFailed as failed:
    say(str(failed), failed.job.attempts)
began = time.time()
say(client.call(fn, 1, delay=0.2), client.call(fn, 2, at=time.time() + 0.2), time.time() - began >= 0.4)
id = client.enqueue(fn, "slow")
for job in client.watch(fn, id):
    if job.progress:
        say(job.state, client.cancel(fn, id))
        break
for job in client.watch(fn, id):
    pass
say(job.state, client.get(fn, client.enqueue(fn, 3, delay=100)).state)
try:
    client.result(fn, client.enqueue(fn, 4, delay=100), wait=0.1)
except TimeoutError:
    say("timeout")
id = client.enqueue(fn, "kill")
say("enqueued", id)
say(client.result(fn, id))
`,
};

const PHP: Language = {
  name: 'PHP',
  command: 'php',
  args: [],
  worker: `<?php
require ${JSON.stringify(folder('clients/php/gearmonkey.php'))};
use GearMonkey\\{JobStopped, RunningJob, Unrecoverable, Worker};
$worker = new Worker(getenv('REDIS_URL'), lease: 1, shutdownTimeout: 0.2);
$worker->handle(getenv('FN'), function (mixed $input, RunningJob $job): mixed {
    if ($input === 'fail') throw new InvalidArgumentException("attempt $job->attempt");
    if ($input === 'hopeless') throw new Unrecoverable('never');
    try {
        for ($done = 1; $input === 'slow' && $job->attempt === 1 && $done < 2000; $done++) {
            $job->progress($done, 2000);
            $job->sleep(0.02);
        }
    } catch (JobStopped $stopped) {
        echo $stopped->getMessage(), "\\n";
        throw $stopped;
    }
    return [$input, $job->attempt, (object) ($job->options['headers'] ?? [])];
}, retry: ['attempts' => 2, 'delay' => 20, 'jitter' => 0]);
$worker->run();
`,
  client: `<?php
require ${JSON.stringify(folder('clients/php/gearmonkey.php'))};
use GearMonkey\\{Client, JobFailed};
[$client, $fn] = [new Client(getenv('REDIS_URL')), getenv('FN')];
$say = function (mixed ...$line): void { echo json_encode($line, JSON_UNESCAPED_UNICODE), "\\n"; };
$say($client->call($fn, ['name' => 'Zoë'], priority: 'high', headers: ['tenant' => 'acme']));
try {
    $client->call($fn, 'fail', retry: ['attempts' => 3, 'delay' => 10, 'backoff' => 'fixed']);
} catch (JobFailed $failed) {
    $say($failed->getMessage(), $failed->job['attempts']);
}
$began = microtime(true);
$say($client->call($fn, 1, delay: 0.2), $client->call($fn, 2, at: microtime(true) + 0.2), microtime(true) - $began >= 0.4);
$id = $client->enqueue($fn, 'slow');
foreach ($client->watch($fn, $id) as $job)
    if ($job['progress']) {
        $say($job['state'], $client->cancel($fn, $id));
        break;
    }
foreach ($client->watch($fn, $id) as $job);
$say($job['state'], $client->get($fn, $client->enqueue($fn, 3, delay: 100))['state']);
try {
    $client->result($fn, $client->enqueue($fn, 4, delay: 100), wait: 0.1);
} catch (RuntimeException) {
    $say('timeout');
}
$id = $client->enqueue($fn, 'kill');
$say('enqueued', $id);
$say($client->result($fn, $id));
`,
};

export const LANGUAGES: readonly Language[] = [PYTHON, PHP];

/** Starts a program of a language for a function. */
export function start({ command, args }: Language, program: string, url: string, fn: string): TestProcess {
  const env = { ...process.env, REDIS_URL: url, FN: fn, GEARMONKEY_SCRIPTS: SCRIPTS };
  const child = new TestProcess(command, args, { env });
  child.input(program);
  return child;
}
