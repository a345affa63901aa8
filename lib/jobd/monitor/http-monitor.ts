import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { Monitored } from './measure.js';
import type { Prometheus } from '../../metrics/prometheus.js';
import { createMetrics } from './metrics.js';

const NO_METRICS = "Metrics need the package 'prom-client': npm install prom-client\n";

/** Serves `/health` and `/metrics`: read-only and without secrets. */
export class HttpMonitor {
  private readonly server: Server;
  private metrics?: Prometheus;

  constructor(
    private readonly monitored: Monitored,
    private readonly log: JobdLog,
  ) {
    this.server = createServer((request, response) => {
      this.serve(request, response).catch((error: unknown) => {
        this.log.error(`monitoring failed: ${messageOf(error)}`);
        answer(response, 500, 'text/plain', 'failed\n');
      });
    });
    this.server.unref();
  }

  /** The port it listens on. */
  async start(host: string, port: number): Promise<number> {
    this.metrics = await createMetrics(this.monitored);
    if (!this.metrics) this.log.warn(NO_METRICS.trim());
    this.server.listen(port, host);
    await once(this.server, 'listening');
    const bound = (this.server.address() as AddressInfo).port;
    this.log.info(`health and metrics at http://${host}:${bound}`);
    return bound;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async serve({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = url.split('?');
    if (method !== 'GET' && method !== 'HEAD') return answer(response, 405, 'text/plain', 'GET only\n');
    if (path === '/health') return this.serveHealth(response);
    if (path !== '/metrics') return answer(response, 404, 'text/plain', '/health or /metrics\n');
    if (!this.metrics) return answer(response, 501, 'text/plain', NO_METRICS);
    const { contentType, text } = await this.metrics.text();
    answer(response, 200, contentType, text);
  }

  private serveHealth(response: ServerResponse): void {
    const health = this.monitored.health();
    const body = JSON.stringify({ status: health.connected ? 'ok' : 'failing', ...health });
    answer(response, health.connected ? 200 : 503, 'application/json', `${body}\n`);
  }
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}
