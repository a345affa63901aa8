import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { listenMaster, type JqMaster } from '../../../lib/jq/master/listen-master.js';
import type { JqMasterOptions } from '../../../lib/jq/master/master-options.js';
import { until } from '../../support/until.js';
import { useRedis, type UsedRedis } from '../../support/use-redis.js';
import { Http } from './http.js';
import { OpenApiCheck } from './openapi-check.js';

/** Every reply to these clients is held against the document. */
export const OPEN_API = new OpenApiCheck();

export interface UsedMaster extends Http {
  readonly redis: UsedRedis;
  /** One more master, closed after the test, on the same state unless the options say otherwise. */
  another(options?: Partial<JqMasterOptions>): Promise<Http & { readonly master: JqMaster }>;
}

/** For a `describe`: a master on a Redis of its own, whose state is empty before each test. */
export function useMaster(options: Partial<JqMasterOptions> = {}): UsedMaster {
  const redis = useRedis();
  const others: JqMaster[] = [];
  let master: JqMaster | undefined;

  const start = async (more: Partial<JqMasterOptions> = {}) => {
    const started = await listenMaster({ connection: redis.url, port: 0, ...options, ...more });
    if (more.connection === undefined && !more.tls && !options.tls) {
      await until(async () => (await fetch(`${started.url}/health/ready`)).ok);
    }
    return started;
  };

  beforeAll(async () => {
    master = await start();
  });
  afterEach(async () => {
    await Promise.all(others.splice(0).map((other) => other.close()));
  });
  afterAll(() => master?.close());

  const check = OPEN_API.check.bind(OPEN_API);
  const http = new Http('', check);
  return Object.defineProperties(http, {
    url: { get: () => master?.url },
    redis: { value: redis },
    another: {
      value: async (more: Partial<JqMasterOptions> = {}) => {
        const other = await start(more);
        others.push(other);
        return Object.assign(new Http(other.url, check), { master: other });
      },
    },
  }) as UsedMaster;
}
