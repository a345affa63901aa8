import type { Redis } from 'ioredis';

export interface Connection {
  /** Its last command, in lower case. */
  readonly cmd: string;
  readonly blocked: boolean;
  /** What it is for: commands, blocking, subscriber or keeper. */
  readonly role: string;
  readonly address: string;
}

/** The connections that this package has opened to a server. */
export async function connectionsOf(redis: Redis): Promise<Connection[]> {
  const lines = String(await redis.client('LIST')).split('\n');
  return lines
    .map((line) => new Map(line.split(' ').map((field) => field.split(/=(.*)/s) as [string, string])))
    .filter((fields) => fields.get('name')?.startsWith('nestjs-gearmonkey:'))
    .map((fields) => ({
      cmd: fields.get('cmd') ?? '',
      blocked: fields.get('flags')?.includes('b') ?? false,
      role: fields.get('name')?.split(':')[1] ?? '',
      address: fields.get('addr') ?? '',
    }));
}
