/**
 * A server process: `server.mjs TASK`. It is the master, or the same Nest server with a single route that answers an
 * empty MessagePack body. Sends its URL over IPC when it listens.
 */
import 'reflect-metadata';
import { Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { messageAdapter } from '../../../lib/jq/master/message.adapter.js';
import { listenMaster } from '../../../lib/jq/master/listen-master.js';
import { portOf, readTask, report } from '../../harness/ipc.mjs';

const { contender, redis } = readTask();
process.once('disconnect', () => process.exit(1));
report({ url: await { jq: startMaster, nest: startEmpty }[contender]() });

async function startMaster() {
  const { url } = await listenMaster({ connection: redis, port: 0 });
  return url;
}

async function startEmpty() {
  class Empty {
    empty() {
      return {};
    }
  }
  const route = Object.getOwnPropertyDescriptor(Empty.prototype, 'empty') ?? {};
  Post('job')(Empty.prototype, 'empty', route);
  HttpCode(201)(Empty.prototype, 'empty', route);
  Controller()(Empty);
  class App {}
  Module({ controllers: [Empty] })(App);
  /** @type {import('@nestjs/platform-express').NestExpressApplication} */
  const app = await NestFactory.create(App, await messageAdapter(), { bodyParser: false, logger: false });
  app.disable('x-powered-by');
  app.useBodyParser('raw', { type: () => true, limit: 4 * 1024 * 1024, inflate: false });
  await app.listen(0, '127.0.0.1');
  return `http://127.0.0.1:${portOf(app.getHttpServer())}`;
}
