import type { Examination, Finding } from '../gearmonkey/core/examination.js';

/** Redis 6.2 has all commands that the scripts use. */
const LEAST_VERSION = [6, 2] as const;
const FULL_PART = 0.9;
const CLOCK_MS = 5_000;
const LAG_SECONDS = 10;

type Info = ReadonlyMap<string, string>;

/** What holds for the server as a whole. */
export async function checkServer(examination: Examination): Promise<Finding[]> {
  const { redis } = examination;
  const info = toInfo(await examination.look('INFO', () => redis.info()));
  const save = await examination.look('CONFIG', () => redis.config('GET', 'save'));
  const clock = await checkClock(examination);
  if (info.size === 0) return clock;
  const saves = Array.isArray(save) ? String(save[1] ?? '') : undefined;
  return [
    ...checkVersion(info),
    ...checkMemory(info),
    ...checkPersistence(info, saves),
    ...checkReplicas(info),
    ...clock,
  ];
}

function toInfo(text: string | undefined): Info {
  const lines = (text ?? '').split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)] as const),
  );
}

function checkVersion(info: Info): Finding[] {
  const version = info.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [least, leastMinor] = LEAST_VERSION;
  if (version === '' || major > least || (major === least && minor >= leastMinor)) return [];
  const remedy = `Use Redis ${LEAST_VERSION.join('.')} or newer, or Valkey.`;
  return [{ code: 'REDIS_VERSION', severity: 'error', title: `The server is Redis ${version}.`, remedy }];
}

function checkMemory(info: Info): Finding[] {
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  const most = Number(info.get('maxmemory') ?? 0);
  const used = Number(info.get('used_memory') ?? 0);
  const findings: Finding[] = [];
  if (policy !== 'noeviction')
    findings.push({
      code: 'EVICTION',
      severity: most > 0 ? 'error' : 'warning',
      title: `The server deletes keys when its memory is full (maxmemory-policy ${policy}): jobs, queues and leases.`,
      remedy: 'CONFIG SET maxmemory-policy noeviction, and write it into the configuration file.',
    });
  if (most > 0 && used > most * FULL_PART)
    findings.push({
      code: 'MEMORY',
      severity: 'warning',
      title: `${Math.round((100 * used) / most)} % of the server's memory is used.`,
      remedy: 'Raise maxmemory, or let jobs wait elsewhere: a full server refuses new jobs.',
    });
  return findings;
}

function checkPersistence(info: Info, saves: string | undefined): Finding[] {
  const findings: Finding[] = [];
  const failed = ['rdb_last_bgsave_status', 'aof_last_bgrewrite_status', 'aof_last_write_status'].filter(
    (name) => info.get(name) === 'err',
  );
  if (failed.length > 0)
    findings.push({
      code: 'SAVE_FAILED',
      severity: 'error',
      title: `The server could not write its data to disk (${failed.join(', ')}).`,
      remedy: "Read the server's log: the disk may be full, or its folder not writable. Then run BGSAVE.",
    });
  if (info.get('aof_enabled') !== '0') return findings;
  const remedy = 'CONFIG SET appendonly yes, and write it into the configuration file.';
  const title = lossOf(saves);
  return [...findings, { code: 'PERSISTENCE', severity: 'warning', title, remedy }];
}

function lossOf(saves: string | undefined): string {
  if (saves === '') return 'The server keeps its data only in memory: all jobs are lost if it ends.';
  return 'The server has no append-only file: if it ends, jobs since its last snapshot are lost.';
}

function checkReplicas(info: Info): Finding[] {
  if (info.get('role') === 'slave')
    return [
      {
        code: 'REPLICA',
        severity: 'error',
        title: 'The server is a replica, which takes no jobs.',
        remedy: `Connect to its master, ${info.get('master_host')}:${info.get('master_port')}, or by Sentinel.`,
      },
    ];
  const behind = [...info]
    .filter(([name]) => /^slave\d+$/.test(name))
    .filter(([, line]) => {
      const fields = new Map(line.split(',').map((field) => field.split('=') as [string, string]));
      return fields.get('state') !== 'online' || Number(fields.get('lag')) > LAG_SECONDS;
    });
  if (behind.length === 0) return [];
  return [
    {
      code: 'REPLICA_BEHIND',
      severity: 'warning',
      title: `${behind.length} of ${info.get('connected_slaves')} replicas are behind: a failover would lose jobs.`,
      remedy: 'INFO replication shows their state. Check their logs and the network between the servers.',
    },
  ];
}

async function checkClock(examination: Examination): Promise<Finding[]> {
  const before = Date.now();
  const time = await examination.look('TIME', () => examination.redis.time());
  const after = Date.now();
  if (!time) return [];
  const server = Number(time[0]) * 1000 + Number(time[1]) / 1000;
  const ahead = server < before ? before - server : Math.min(0, after - server);
  if (Math.abs(ahead) < CLOCK_MS) return [];
  return [
    {
      code: 'CLOCK',
      severity: 'warning',
      title: `The clock of this machine is ${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? 'ahead of' : 'behind'} that of the server.`,
      remedy:
        'Run NTP on both: times that this machine chooses, as with `scheduled`, are wrong by as much, and so are ages that it shows.',
    },
  ];
}
