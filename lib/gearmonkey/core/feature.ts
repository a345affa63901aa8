import type { GivenHeaders } from '../../job/headers.js';
import type { JobAccess } from './client/job-access.js';
import type { JobFeeds } from './client/job-feeds.js';
import type { JobReader } from './client/job-handle.js';
import type { JobStore } from './client/job-store.js';
import type { KnownFunctions } from './client/known-functions.js';
import type { AnyJobDefinition } from '../../job/job-definition.js';
import type { EnqueueWay, NewJobs, PlaceHook } from './client/new-jobs.js';
import type { SourceFeatures, SourceServer } from './source/source-features.js';
import type { StoreServer } from './client/store-server.js';
import type { Call } from '../../redis/rights.js';
import type { FunctionKeys } from './wire/protocol.js';
import type { ExplainMore, Role } from './wire/rights.js';

/** What a client's features are made on. */
export interface ClientCore<Store extends JobStore = JobStore> {
  readonly store: Store;
  readonly functions: KnownFunctions;
  readonly feeds: JobFeeds;
  readonly newJobs: NewJobs;
  readonly jobs: JobAccess;
  /** What handles ask. */
  readonly reader: JobReader;
  readonly headers: (() => GivenHeaders | undefined) | undefined;
}

/** A class whose methods a client gets. */
export type ClientPart<Store extends JobStore = JobStore> = new (core: ClientCore<Store>) => object;

/** A feature of GearMonkey jobs. All are listed in `features/index.ts`; the core imports none. */
export interface Feature<Store extends JobStore = JobStore> {
  readonly name: string;
  /** What the store has under the feature's name: its questions to the server. */
  store?(server: StoreServer): object;
  /** What it does for a worker. */
  source?(server: SourceServer): Partial<SourceFeatures>;
  /** One call for each right that all users of a role need for it on a function. */
  rights?(role: Role, k: FunctionKeys): Call[];
  /** Explains a refusal by a right that a client of the feature needs; otherwise it returns the refusal. */
  readonly explain?: ExplainMore;
  /** Methods of the client. */
  readonly client?: ClientPart<Store>;
  /** Methods of handles. */
  handle?(core: ClientCore<Store>): Partial<JobReader>;
  /** Another way to create a job than at once in a queue. */
  enqueue?(core: ClientCore<Store>): EnqueueWay;
  /** Where jobs go, such as their keys. It may create them with a script of its own. */
  readonly place?: PlaceHook;
  /** What `place` reads of definitions: jobs of a function without any of it take the short way. */
  readonly settings?: readonly (keyof AnyJobDefinition)[];
}

/** Gives `host` the methods and getters of a class, which call those of the object that `partOf` returns. */
export function addMembers<Host extends object>(
  host: Host,
  Part: { readonly prototype: object },
  partOf: (host: Host) => object,
): void {
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(Part.prototype))) {
    if (name === 'constructor') continue;
    const method = member.value as ((...args: unknown[]) => unknown) | undefined;
    const added: PropertyDescriptor & ThisType<Host> = method
      ? {
          writable: true,
          value(this: Host, ...args: unknown[]) {
            return method.apply(partOf(this), args);
          },
        }
      : {
          get(this: Host) {
            return Reflect.get(partOf(this), name) as unknown;
          },
        };
    Object.defineProperty(host, name, { ...added, configurable: true });
  }
}
