import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { ApiFailure } from './dashboard-errors.js';

/**
 * Lets the app end while pages are open: a server that closes waits for connections that are in use, and a page that
 * asks every few seconds would keep its own in use.
 */
@Injectable()
export class Closing implements OnModuleDestroy {
  private hasBegun = false;

  onModuleDestroy(): void {
    this.hasBegun = true;
  }

  /** Refuses a request of an app that closes, and ends its connection. @throws ApiFailure 503 */
  check(response: ServerResponse): void {
    if (!this.hasBegun) return;
    response.setHeader('connection', 'close');
    throw new ApiFailure(503, 'CLOSING', 'The app is closing.');
  }
}
