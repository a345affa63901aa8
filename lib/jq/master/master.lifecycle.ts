import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import { nestLog } from '../../nest/nest-log.js';
import { JqEngine } from '../engine/engine.js';
import { MASTER_SETTINGS, weakRoles, type MasterSettings } from './master-options.js';
import { WorkerPusher } from './worker-pusher.js';

const RETRY_MS = 1000;

/** Starts and stops in order: stop handing out jobs, wait for replies, close connections, Redis last. */
@Injectable()
export class MasterLifecycle
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly log = nestLog('JqMaster');
  isDraining = false;

  constructor(
    private readonly engine: JqEngine,
    private readonly pusher: WorkerPusher,
    private readonly host: HttpAdapterHost,
    @Inject(MASTER_SETTINGS) private readonly settings: MasterSettings,
  ) {}

  /** Doesn't wait for Redis; readiness shows whether it is there. */
  onApplicationBootstrap(): void {
    for (const role of weakRoles(this.settings.tokens)) {
      this.log.warn(
        `A token of the role "${role}" is short: it can be found by trying. Give it 16 characters.`,
      );
    }
    void this.start();
  }

  /** Retries until it has started: Redis may soon allow what it refuses now. */
  private async start(): Promise<void> {
    let said = '';
    while (!this.isDraining && !this.engine.isStarted) {
      try {
        await this.engine.start();
      } catch (error) {
        const why = messageOf(error);
        if (!this.isDraining && why !== said)
          this.log.error(`The master could not start, trying again: ${why}`);
        said = why;
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isDraining = true;
    const { httpAdapter } = this.host;
    if ('isDraining' in httpAdapter) httpAdapter.isDraining = true;
    this.engine.stop();
    await this.pusher.idle();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.engine.close();
    await this.pusher.close();
  }
}
