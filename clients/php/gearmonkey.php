<?php
/**
 * GearMonkey jobs in PHP 8.1 or newer: a client, and a worker that loses no job when it is killed.
 *
 *     $output = (new Client('redis://127.0.0.1:6379'))->call('resize', ['width' => 300], wait: 30);
 *
 *     $worker = new Worker('redis://127.0.0.1:6379');
 *     $worker->handle('resize', function (mixed $input, RunningJob $job): string {
 *         $job->progress(1, 2); // throws JobStopped once the job has to stop
 *         return 'small.png';
 *     }, retry: ['attempts' => 3]);
 *     $worker->run(); // one job at a time, until SIGTERM
 *
 * It needs the extension redis (a worker pcntl and posix, too) and the folder with the scripts of nestjs-gearmonkey, of the version that
 * the other programs have: `scripts`, or GEARMONKEY_SCRIPTS. Payloads are JSON. Times are seconds; those in `retry` and `timeout`, ms.
 */
declare(strict_types=1);

namespace GearMonkey;

const PRESENCE_MS = 10_000, MAX_STALLS = 3, MAX_INPUT = 1_048_576, MAX_TEXT = 8192;
const UNITS = ['ms' => 1, 's' => 1000, 'm' => 60_000, 'h' => 3_600_000, 'd' => 86_400_000];
const STATES = ['busy' => 'running', 'success' => 'succeeded', 'error' => 'failed'];

/** The job that was waited for has failed, or was cancelled: `job` has its error. */
final class JobFailed extends \RuntimeException {
    public function __construct(public readonly array $job) {
        parent::__construct($job['error']['message'] ?? '');
    }
}

/** The job of this handler has to stop. Its message says why: cancelled, lost, timeout or shutdown. */
final class JobStopped extends \RuntimeException {}

/** Throw it in a handler to fail the job without another attempt. */
final class Unrecoverable extends \RuntimeException {}

/** Enqueues jobs, waits for them, reads and cancels them. `patience` is for a server that is gone. */
final class Client {
    public readonly string $name;
    private $redis, $scripts = [], $calls = 0;

    public function __construct(public readonly string $url, public readonly ?string $folder = null, private float $patience = 5) { $this->name = bin2hex(random_bytes(16)); }

    /** Calls again while the server can't be reached: all that is called here may be sent twice. */
    public function insist(callable $call): mixed {
        for ($until = microtime(true) + $this->patience;; usleep(100_000)) {
            try {
                return $call($this->redis ??= $this->connect());
            } catch (\RedisException $error) {
                $this->redis = null;
                if (microtime(true) >= $until) throw $error;
            }
        }
    }

    /** Calls a script of the protocol. */
    public function script(string $name, array $keys, array $args): mixed {
        $folder = $this->folder ?? (getenv('GEARMONKEY_SCRIPTS') ?: 'node_modules/nestjs-gearmonkey/dist/gearmonkey/scripts');
        $text = $this->scripts[$name] ??= file_get_contents("$folder/$name.lua");
        $all = [...$keys, ...array_map(strval(...), $args)];
        return $this->insist(function (\Redis $redis) use ($text, $keys, $all): mixed {
            foreach ([['evalSha', sha1($text)], ['eval', $text]] as [$command, $script]) {
                $redis->clearLastError();
                $reply = $redis->$command($script, $all, count($keys));
                $error = $redis->getLastError();
                if (!str_starts_with($error ?? '', 'NOSCRIPT')) break;
            }
            return $error === null ? $reply : throw new \RuntimeException($error);
        });
    }

    /** Creates a job and returns its id. `delay` or a Unix time `at` say when it may run. Options: `retry`, `timeout`, `headers`. */
    public function enqueue(string $fn, mixed $input = null, string $priority = 'normal', ?float $delay = null, ?float $at = null, mixed ...$options): string {
        if (!in_array($priority, ['high', 'normal', 'low'], true) || array_diff(array_keys($options), ['retry', 'timeout', 'headers']))
            throw new \InvalidArgumentException("Unknown priority or option: $priority, " . implode(', ', array_keys($options)));
        $when = $delay !== null ? '+' . round($delay * 1000) : ($at === null ? '' : sprintf('%.3F', $at));
        $queue = "queue:$fn:" . ($when === '' ? $priority : 'scheduled');
        $keys = ["uid:$fn", "job:$fn:", $queue, "channel:$fn", "wake:$fn", "sender:$fn:$this->name"];
        $head = [round(microtime(true) * 1000), ++$this->calls, 3600, random_int(1, 2 ** 32 - 1) * 1_000_000, $when];
        return (string) $this->script('enqueue', $keys, [...$head, $options ? encode($options) : '', '', encode($input)]);
    }

    public function call(string $fn, mixed $input = null, float $wait = 30, mixed ...$options): mixed { return $this->result($fn, $this->enqueue($fn, $input, ...$options), $wait); }

    /** Waits for a job's output. Throws JobFailed, OutOfBoundsException if there is none, RuntimeException after `wait` seconds. */
    public function result(string $fn, string $id, float $wait = 30): mixed {
        foreach ($this->watch($fn, $id, $wait) as $job);
        return match ($job['state']) {
            'succeeded' => $job['output'],
            'failed', 'cancelled' => throw new JobFailed($job),
            default => throw new \RuntimeException("Job $id of $fn did not end within $wait s. It goes on."),
        };
    }

    /** Yields the job now and after each change, until it has ended or `wait` seconds are over. It looks ten times a second. */
    public function watch(string $fn, string $id, float $wait = INF): \Generator {
        for ($until = microtime(true) + $wait, $job = null;; usleep(100_000)) {
            [$before, $job] = [$job, $this->get($fn, $id)];
            if ($job !== $before) yield $job;
            if (in_array($job['state'], ['succeeded', 'failed', 'cancelled'], true) || microtime(true) >= $until) return;
        }
    }

    /** Reads a job. Its state: waiting, scheduled, retrying, running, succeeded, failed or cancelled. Throws OutOfBoundsException. */
    public function get(string $fn, string $id): array {
        $stored = $this->insist(fn (\Redis $redis) => $redis->hGetAll("job:$fn:$id"));
        $status = $stored['status'] ?? throw new \OutOfBoundsException("There is no job $id of $fn");
        [$due, $retry] = [(float) ($stored['due'] ?? 0), (float) ($stored['retry'] ?? 0)];
        $later = max($due, $retry) <= microtime(true) * 1000 ? 'waiting' : ($due >= $retry ? 'scheduled' : 'retrying');
        $state = isset($stored['cancelled']) ? 'cancelled' : STATES[$status] ?? (isset($stored['after']) ? 'scheduled' : $later);
        $output = $stored['output'] ?? '';
        $error = isset($stored['error']) ? decode($stored['error']) : ['name' => 'Error', 'message' => $output];
        $progress = isset($stored['status:divisor']) ? [+$stored['status:dividend'], +$stored['status:divisor']] : null;
        return ['id' => $id, 'state' => $state, 'input' => decode($stored['input'] ?? ''), 'attempts' => (int) ($stored['attempts'] ?? 0),
            'output' => $state === 'succeeded' ? decode($output) : null, 'progress' => $progress,
            'error' => in_array($state, ['failed', 'cancelled'], true) ? $error : null];
    }

    /** Cancels a job that waits or runs. False if it had ended. Throws OutOfBoundsException, and RuntimeException of a plain worker's. */
    public function cancel(string $fn, string $id): bool {
        $info = encode(['name' => 'JobCancelledError', 'message' => 'cancelled', 'code' => 'JOB_CANCELLED']);
        $keys = [...keys($fn), "channel:$fn", "cancel:$fn", "wake:$fn"];
        $done = $this->script('cancel', $keys, ['', $id, '', 'cancelled', $info]);
        if ($done === 'missing') throw new \OutOfBoundsException("There is no job $id of $fn");
        return $done === 'running' ? throw new \RuntimeException("Job $id of $fn can't be stopped: a plain worker runs it") : $done !== 'finished';
    }

    private function connect(): \Redis {
        $url = parse_url($this->url) + ['port' => 6379, 'path' => ''];
        $redis = new \Redis();
        $redis->connect(($url['scheme'] === 'rediss' ? 'tls://' : '') . $url['host'], $url['port'], 1.0, null, 0, 5.0);
        if (isset($url['pass'])) $redis->auth([...array_filter([urldecode($url['user'] ?? '')]), urldecode($url['pass'])]);
        $redis->select((int) trim($url['path'], '/'));
        return $redis;
    }
}

/** What a handler gets beside its input. `attempt` is 1 in the first one. */
final class RunningJob {
    public $id, $member, $input, $attempt, $options, $stopped = '';

    public function __construct(private Worker $worker, private Client $client, public readonly string $fn, array $claim, array $defaults) {
        [$token, $attempts, $stalls, , $options] = explode(':', $claim[1], 5) + ['', '1', '0', '0', ''];
        [$this->id, $this->input, $this->member] = [$claim[0], decode($claim[2]), "$claim[0]:$token"];
        $this->attempt = (int) $attempts - (int) $stalls;
        $this->options = decode($options ?: '{}') + $defaults;
    }

    /** Sleeps. Throws JobStopped as soon as the job has to stop; a long handler calls it now and then. */
    public function sleep(float $seconds = 0): void {
        for ($until = microtime(true) + $seconds;; usleep((int) max(0, min(50_000, ($until - microtime(true)) * 1e6)))) {
            $this->stopped = $this->stopped ?: $this->worker->reasonToStop($this->member);
            if ($this->stopped !== '') throw new JobStopped($this->stopped);
            if (microtime(true) >= $until) return;
        }
    }

    /** Says that `done` of `total` parts are done. Throws JobStopped once the job has to stop. */
    public function progress(float $done, float $total): void {
        $keys = ["job:$this->fn:$this->id", "lease:$this->fn", "progress:$this->fn"];
        if (!$this->client->script('progress', $keys, [$this->member, $done, $total])) $this->stopped = $this->stopped ?: 'lost';
        $this->sleep();
    }
}

/** Runs jobs, one at a time. A killed worker's jobs run again once their leases have ended. */
final class Worker {
    private $client, $keeper, $handlers = [], $endsAt = INF;

    public function __construct(string $url, ?string $scripts = null, private float $lease = 8, private float $shutdownTimeout = 10) { $this->client = new Client($url, $scripts, 30); }

    /** Makes a function `(input, job)` run jobs. Their own options go before these. */
    public function handle(string $fn, callable $run, array $retry = [], ?int $timeout = null): void { $this->handlers[$fn] = [$run, ['retry' => $retry, 'timeout' => $timeout]]; }

    /** Claims no more jobs. `run` returns once the running one has ended; after `shutdownTimeout` it has to stop, and is given back. */
    public function stop(): void { $this->endsAt = min($this->endsAt, microtime(true) + $this->shutdownTimeout); }

    /** Runs jobs until `stop`, SIGTERM or SIGINT. */
    public function run(): void {
        pcntl_async_signals(true);
        $this->startKeeper();
        foreach ([SIGTERM, SIGINT] as $number) pcntl_signal($number, fn () => $this->stop());
        $lists = array_map(fn ($fn) => "wake:$fn", array_keys($this->handlers));
        for ($wait = 0; $this->endsAt === INF; $wait = min($waits)) {
            if ($wait > 0) $this->client->insist(fn (\Redis $redis) => $redis->rawCommand('BLPOP', ...[...$lists, $wait / 1000]));
            foreach ($this->handlers as $fn => [$run, $defaults]) {
                [$claim, $due] = $this->claim($fn, 1);
                $waits[$fn] = $claim ? 0 : ($due > 0 ? min($due, 1000) : 1000);
                // With one function, an outcome goes with the next claim.
                while ($claim) {
                    $outcome = $this->execute($run, new RunningJob($this, $this->client, $fn, $claim, $defaults));
                    [$claim] = $this->claim($fn, count($this->handlers) > 1 ? 0 : 1, $outcome);
                }
            }
        }
        fclose($this->keeper);
        $this->presence($this->client, 0);
    }

    private function claim(string $fn, int $slots, array $outcome = []): array {
        $args = ['', $this->lease * 1000, $this->endsAt === INF ? $slots : 0, MAX_STALLS, 1, MAX_INPUT, 0, '', ...$outcome];
        [$refused, $claim, , $due] = $this->client->script('claim', [...keys($fn), "wake:$fn", "channel:$fn", "control:$fn"], $args);
        if ($refused) error_log("The outcome of $refused[0] of $fn was refused: its lease had ended");
        return [$claim, $due];
    }

    private function presence(Client $client, int $ms): void { foreach (array_keys($this->handlers) as $fn) $client->script('presence', ["count:$fn", "workers:$fn"], ['', $this->client->name, $ms]); }

    private function execute(callable $run, RunningJob $job): array {
        $limit = $job->options['timeout'];
        fwrite($this->keeper, encode([$job->fn, $job->id, $job->member, $limit ? microtime(true) + $limit / 1000 : null]) . "\n");
        try {
            $output = encode($run($job->input, $job));
            $job->sleep();
            $reply = isset($job->options['reply']) && strlen($output) <= 65_536 ? "reply:$job->fn:{$job->options['reply']}" : '';
            return [$job->member, 'success', $output, $reply];
        } catch (\Throwable $error) {
            if ($job->stopped === 'shutdown') return [$job->member, 'released', '', ''];
            return in_array($job->stopped, ['cancelled', 'lost'], true) ? [] : failure($job, $error);
        } finally {
            fwrite($this->keeper, "null\n");
        }
    }

    /** Why a job has to stop, or ''. */
    public function reasonToStop(string $member): string {
        while ($line = fgets($this->keeper)) if (str_starts_with($line, "$member ")) return substr(trim($line), strlen($member) + 1);
        return microtime(true) >= $this->endsAt ? 'shutdown' : '';
    }

    /** Makes a process that renews the lease of the job, and ends with this one. */
    private function startKeeper(): void {
        [$this->keeper, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        stream_set_blocking($this->keeper, false);
        if (pcntl_fork() !== 0) return;
        fclose($this->keeper);
        foreach ([SIGTERM, SIGINT] as $number) pcntl_signal($number, SIG_IGN);
        try {
            $this->keep($its, new Client($this->client->url, $this->client->folder, INF));
        } finally {
            posix_kill(posix_getpid(), SIGKILL); // Destructors of the parent's objects don't run here.
        }
    }

    private function keep($parent, Client $client): void {
        for ($held = null, $next = 0;;) {
            [$read, $none] = [[$parent], null];
            if (stream_select($read, $none, $none, 0, (int) max(0, min(999_999, ($next - microtime(true)) * 1e6))) > 0) {
                if (($line = fgets($parent)) === false) return;
                $held = json_decode($line, true);
                continue;
            }
            $next = microtime(true) + min(1, $this->lease / 4);
            $this->presence($client, PRESENCE_MS);
            if ($held === null) continue;
            [$fn, $id, $member, $limit] = $held;
            $over = $limit === null ? 0 : microtime(true) - $limit;
            if ($over > 0) fwrite($parent, "$member timeout\n");
            // Of a handler that does not stop, the lease ends.
            if ($over > 1 || !$client->script('renew', ["lease:$fn", "job:$fn:"], ['', $this->lease * 1000, $this->client->name, $member])) continue;
            $isCancelled = $client->insist(fn (\Redis $redis) => $redis->hExists("job:$fn:$id", 'cancelled'));
            fwrite($parent, "$member " . ($isCancelled ? 'cancelled' : 'lost') . "\n");
        }
    }
}

/** The outcome of an attempt that failed. */
function failure(RunningJob $job, \Throwable $error): array {
    [$message, $stack] = [substr($error->getMessage() ?: $error::class, 0, MAX_TEXT), substr((string) $error, 0, MAX_TEXT)];
    $info = json_encode(['name' => $error::class, 'message' => $message, 'stack' => $stack], JSON_INVALID_UTF8_SUBSTITUTE);
    $retry = $job->options['retry'];
    if ($error instanceof Unrecoverable || $job->attempt >= ($retry['attempts'] ?? 1)) return [$job->member, 'error', $message, $info];
    $first = milliseconds($retry['delay'] ?? 1000);
    $wait = ($retry['backoff'] ?? '') === 'fixed' ? $first : $first * 2 ** ($job->attempt - 1);
    $wait = min($wait, milliseconds($retry['max'] ?? 3_600_000)) * (1 - ($retry['jitter'] ?? 0.2) * lcg_value());
    return [$job->member, 'retry', round($wait), $info];
}

/** Programs in JavaScript may write 30s or 5 minutes. */
function milliseconds(int|float|string $span): float {
    return preg_match('/^([\d.]+)\s*(ms|[smhd])\w*$/', (string) $span, $parts) ? $parts[1] * UNITS[$parts[2]] : (float) $span;
}

function keys(string $fn): array { return ["job:$fn:", "lock:$fn:", "lease:$fn", "queue:$fn:scheduled", "queue:$fn:high", "queue:$fn:normal", "queue:$fn:low"]; }

function encode(mixed $value): string { return json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION); }

/** Input that is not JSON is text. */
function decode(string $text): mixed {
    $value = json_decode($text, true);
    return json_last_error() === JSON_ERROR_NONE ? $value : $text;
}
