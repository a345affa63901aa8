/** A worker process, on the server of its argument, whose jobs never end. */
import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { Worker } from '../../lib/index.js';
import { runWorkerApp } from '../soak/worker-app.js';

@Injectable()
class Handlers {
  @Worker('work')
  hold() {
    return new Promise<never>(() => undefined);
  }
}

await runWorkerApp(Handlers);
