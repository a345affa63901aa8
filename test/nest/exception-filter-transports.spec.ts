import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Logger, Module, UseFilters, type INestApplication } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Transport, type ClientProxy } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { once } from 'node:events';
import { firstValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import { GearMonkeyExceptionFilter, NotCancellableError } from 'nestjs-gearmonkey';
import { freePort } from '../support/free-port.js';

const fail = (): never => {
  throw new NotCancellableError('mail', '1');
};

@Controller()
class Patterns {
  @MessagePattern('fail')
  fail() {
    fail();
  }
  @MessagePattern('echo')
  echo(text: string) {
    return text;
  }
}

@WebSocketGateway()
@UseFilters(GearMonkeyExceptionFilter)
class Gateway {
  @SubscribeMessage('fail')
  fail() {
    fail();
  }
  @SubscribeMessage('crash')
  crash() {
    throw new Error('not of this package');
  }
  @SubscribeMessage('echo')
  echo() {
    return { event: 'echo', data: 'still here' };
  }
}

@Module({
  controllers: [Patterns],
  providers: [Gateway, { provide: APP_FILTER, useClass: GearMonkeyExceptionFilter }],
})
class App {}

let app: INestApplication;
let client: ClientProxy | undefined;
let socket: WebSocket | undefined;

afterEach(async () => {
  await client?.close();
  socket?.terminate();
  await app.close();
  jest.restoreAllMocks();
});

async function start(): Promise<number> {
  const port = await freePort();
  app = await NestFactory.create(App, { logger: false, abortOnError: false });
  app.useWebSocketAdapter(new WsAdapter(app));
  app.connectMicroservice(
    { transport: Transport.TCP, options: { host: '127.0.0.1', port } },
    { inheritAppConfig: true },
  );
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  return port;
}

describe('GearMonkeyExceptionFilter', () => {
  it('leaves a microservice to Nest, which goes on', async () => {
    const port = await start();
    client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
    await expect(firstValueFrom(client.send('fail', ''))).rejects.toMatchObject({
      status: 'error',
      message: 'Internal server error',
    });
    await expect(firstValueFrom(client.send('echo', 'on'))).resolves.toBe('on');
  });

  it('answers a client of a gateway as Nest does, and prints the error', async () => {
    const printed: unknown[] = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((error) => void printed.push(error));
    await start();
    socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
    await once(socket, 'open');
    const messages: unknown[] = [];
    socket.on('message', (data: Buffer) => messages.push(JSON.parse(String(data))));
    const data = { job: 7 };
    for (const event of ['fail', 'crash']) {
      socket.send(JSON.stringify({ event, data }));
      await once(socket, 'message');
    }
    socket.send(JSON.stringify({ event: 'echo' }));
    await once(socket, 'message');
    const answer = (pattern: string) => ({
      event: 'exception',
      data: { status: 'error', message: 'Internal server error', cause: { pattern, data } },
    });
    expect(messages).toEqual([answer('fail'), answer('crash'), { event: 'echo', data: 'still here' }]);
    expect(printed).toEqual([expect.any(NotCancellableError), new Error('not of this package')]);
  });
});
