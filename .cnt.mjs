import { openOwnApp } from './bench/harness/own-app.mjs';
import { RedisUsage } from './bench/harness/redis-usage.mjs';
import { drain, fill, warmUp } from './bench/suites/peers/throughput.mjs';
const [url, from] = process.argv.slice(2);
const INPUT = { to: 'ada@example.com', subject: 'x'.repeat(60) };
const usage = new RedisUsage(url); await usage.flush();
const queue = await openOwnApp(url, 'bench', { from });
await warmUp(queue, INPUT, 2000);
for (const c of [1, 10, 100]) { await usage.flush(); const n = 8000; await fill(queue, INPUT, n); const b = await usage.calls(); const r = await drain(queue, n, c); const a = await usage.calls(); const d = (k) => ((a.get(k) ?? 0) - (b.get(k) ?? 0)); console.log(c, 'us', (r.cpuMicroseconds / n).toFixed(1), 'jobs per evalsha', (n / d('evalsha')).toFixed(1), 'evalsha', d('evalsha'), 'blpop', d('blpop')); }
await queue.close(); usage.close(); process.exit(0);
