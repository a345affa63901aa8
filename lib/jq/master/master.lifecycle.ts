import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { messageOf } from '../../job/errors.js';
import { JqEngine } from '../engine/engine.js';
import { MASTER_SETTINGS, weakRoles, type MasterSettings } from './master-options.js';
import { MessageAdapter } from './message.adapter.js';
import { WorkerPusher } from './worker-pusher.js';

/** Starts and stops in order: no more jobs out, replies in, connections closed, Redis last. */
@Injectable()
export class MasterLifecycle
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly log = new Logger('JqMaster');
  isDraining = false;

  constructor(
    private readonly engine: JqEngine,
    private readonly pusher: WorkerPusher,
    private readonly host: HttpAdapterHost,
    @Inject(MASTER_SETTINGS) private readonly settings: MasterSettings,
  ) {}

  /** Doesn't wait for Redis: readiness tells. */
  onApplicationBootstrap(): void {
    for (const role of weakRoles(this.settings.tokens)) {
      this.log.warn(
        `A token of the role "${role}" is short: it can be found by trying. Give it 16 characters.`,
      );
    }
    this.engine.start().catch((error: unknown) => {
      if (!this.isDraining) this.log.error(`The master could not start: ${messageOf(error)}`);
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isDraining = true;
    const { httpAdapter } = this.host;
    if (httpAdapter instanceof MessageAdapter) httpAdapter.isDraining = true;
    this.engine.stop();
    await this.pusher.idle();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.engine.close();
    await this.pusher.close();
  }
}
