import { ConfigService } from '@nestjs/config';
import { Redis } from 'ioredis';
import {
  GearMonkeyModule,
  type GearMonkeyModuleOptions,
  type GearMonkeyOptionsFactory,
  type JobSource,
} from 'nestjs-gearmonkey';

declare const source: JobSource;
declare const url: string;
declare const maybe: string | undefined;
declare const known: GearMonkeyModuleOptions;

const onRedis = { hashTag: true, enqueueTimeout: '1s', lease: 2000, maxStalls: 1 } as const;
const anywhere = { codec: 'msgpack', maxPayloadBytes: 1, shutdownTimeout: '1s', name: 'n' } as const;

/** These compile. */
export const accepted = [
  GearMonkeyModule.forRoot({ connection: 'memory:' }),
  GearMonkeyModule.forRoot({ connection: 'memory:shared', ...anywhere }),
  GearMonkeyModule.forRoot({ connection: `memory:${url}` }),
  GearMonkeyModule.forRoot({ source, ...anywhere, errorDetail: 'message', jobLimits: { attempts: 3 } }),
  GearMonkeyModule.forRoot({ connection: 'redis://127.0.0.1:6379', ...onRedis, ...anywhere }),
  GearMonkeyModule.forRoot({ connection: url, ...onRedis, durability: 'wait', waitReplicas: 2 }),
  GearMonkeyModule.forRoot({ connection: { host: 'redis', port: 1 }, ...onRedis }),
  GearMonkeyModule.forRoot({ connection: { nodes: [url] }, hashTag: true }),
  GearMonkeyModule.forRoot({ connection: new Redis(url), lease: '2s' }),
  GearMonkeyModule.forRoot({ connection: maybe ?? 'memory:' }),
  GearMonkeyModule.forRoot(maybe ? { connection: maybe, hashTag: true } : { connection: 'memory:' }),
  GearMonkeyModule.forRoot(known),
  GearMonkeyModule.forRoot({ ...known, name: 'n' }),
  GearMonkeyModule.forRootAsync({ useFactory: () => known, name: 'n' }),
  GearMonkeyModule.forRootAsync({
    inject: ['URL'],
    useFactory: (at: string) => ({ connection: at, lease: 1 }),
  }),
  GearMonkeyModule.forRootAsync({ useFactory: async () => ({ source }) }),
  GearMonkeyModule.forRootAsync({
    useFactory: () => (maybe ? { connection: maybe, hashTag: true } : { connection: 'memory:' }),
  }),
  GearMonkeyModule.forRootAsync({
    inject: [ConfigService],
    useFactory: (config: ConfigService) => ({
      connection: config.get('REDIS_URL', 'memory:'),
      lease: config.get('LEASE', '8s'),
      workers: config.get('WORKERS', false),
      shutdownTimeout: config.get<string>('SHUTDOWN_TIMEOUT'),
    }),
  }),
  GearMonkeyModule.forRootAsync({
    inject: [ConfigService],
    useFactory: async (config: ConfigService) => ({ connection: config.getOrThrow('REDIS_URL') }),
  }),
  GearMonkeyModule.forRootAsync({
    inject: [ConfigService],
    useFactory: (config: ConfigService) => ({ connection: { host: config.get('REDIS_HOST', '::1') } }),
  }),
];

/** These don't. */
export const refused = [
  // @ts-expect-error neither of them
  GearMonkeyModule.forRoot({}),
  // @ts-expect-error both of them
  GearMonkeyModule.forRoot({ connection: 'memory:', source }),
  // @ts-expect-error both of them
  GearMonkeyModule.forRoot({ connection: url, source }),
  // @ts-expect-error there may be none
  GearMonkeyModule.forRoot({ connection: maybe }),
  // @ts-expect-error only Redis has slots
  GearMonkeyModule.forRoot({ connection: 'memory:', hashTag: true }),
  // @ts-expect-error nor a shared one
  GearMonkeyModule.forRoot({ connection: 'memory:shared', enqueueTimeout: '1s' }),
  // @ts-expect-error only Redis has replicas
  GearMonkeyModule.forRoot({ connection: 'memory:', durability: 'wait' }),
  // @ts-expect-error only Redis has leases
  GearMonkeyModule.forRoot({ connection: 'memory:', lease: '1s' }),
  // @ts-expect-error only Redis has leases
  GearMonkeyModule.forRoot({ connection: 'memory:', maxStalls: 1 }),
  // @ts-expect-error a source has its own options
  GearMonkeyModule.forRoot({ source, hashTag: true }),
  // @ts-expect-error a source has its own options
  GearMonkeyModule.forRoot({ source, lease: '1s' }),
  // @ts-expect-error a source has its own options
  GearMonkeyModule.forRoot({ source, waitReplicas: 2 }),
  // @ts-expect-error no such option
  GearMonkeyModule.forRoot({ connection: url, hashtag: true }),
  // @ts-expect-error no source
  GearMonkeyModule.forRoot({ source: url }),
  // @ts-expect-error both of them
  GearMonkeyModule.forRootAsync({ useFactory: () => ({ connection: url, source }) }),
  // @ts-expect-error a source has its own options
  GearMonkeyModule.forRootAsync({ useFactory: async () => ({ source, lease: '1s' }) }),
  // @ts-expect-error neither of them
  GearMonkeyModule.forRootAsync({ useFactory: () => ({ hashTag: true }) }),
];

export class Configured implements GearMonkeyOptionsFactory {
  constructor(private readonly config: ConfigService) {}

  createGearMonkeyOptions() {
    return { connection: this.config.get('REDIS_URL', 'memory:') };
  }
}
GearMonkeyModule.forRootAsync({ useClass: Configured });

export class Factory implements GearMonkeyOptionsFactory {
  // @ts-expect-error a source has its own options
  createGearMonkeyOptions() {
    return { source, lease: 1 };
  }
}
// @ts-expect-error nor is it a factory
GearMonkeyModule.forRootAsync({ useClass: Factory });
