import { emitterMethods, refuseMethods, unsupported } from './unsupported.js';

/**
 * What `job.waitUntilFinished(events)` is given in BullMQ. It opens no connection: the app's client has one already. For events
 * of a queue use `@OnStart`, `@OnProgress` and `@OnFinish`, or `GearMonkeyClient.events`.
 */
export class QueueEvents {
  constructor(
    readonly name: string,
    options?: object,
  ) {
    void options;
  }

  /** Does nothing. */
  async waitUntilReady(): Promise<void> {}

  /** Does nothing. */
  async close(): Promise<void> {}

  /** @throws ConfigurationError always */
  on(event: never): never {
    throw unsupported(`QueueEvents.on('${String(event)}')`, EVENTS);
  }
}

const EVENTS = 'Use a method with @OnStart, @OnProgress or @OnFinish, or GearMonkeyClient.events.';

refuseMethods(QueueEvents.prototype, 'QueueEvents', {
  ...emitterMethods(EVENTS),
  run: 'Leave it out: it opens no connection.',
  disconnect: 'Leave it out: it opens no connection.',
});
