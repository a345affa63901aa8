import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { isErrorInfo, type JobErrorInfo } from '../job/errors.js';
import {
  instrumentation,
  subscribeTo,
  type EnqueueEvent,
  type InstrumentedEvent,
  type RunEvent,
} from '../job/instrumentation.js';
import { withoutSecrets } from '../job/secrets.js';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';

/** How a run belongs to the trace in which its job was enqueued: `link` starts a new trace, `parent` continues it. */
export type TraceRelation = 'link' | 'parent';

/** Headers in which a context travels. */
const FIELDS = ['traceparent', 'tracestate', 'baggage'];
/** Longest such header: W3C asks for 512 characters of tracestate at least. */
const MAX_HEADER = 1024;
/** Most ids that a span names. */
const MAX_IDS = 10;

const OPERATIONS = { send: SpanKind.PRODUCER, process: SpanKind.CONSUMER } as const;

/** Makes spans from the instrumentation of this process. */
export class JobTraces {
  private readonly tracer: Tracer;
  private readonly spans = new WeakMap<object, Span>();
  private readonly stops: readonly (() => void)[];

  constructor(private readonly relation: TraceRelation) {
    this.tracer = trace.getTracer('nestjs-gearmonkey', PACKAGE_VERSION);
    this.stops = [
      subscribeTo(instrumentation.enqueue, {
        start: (event) => this.send(event),
        asyncEnd: (event) => this.sent(event),
      }),
      subscribeTo(instrumentation.run, {
        start: (event) => this.process(event),
        asyncEnd: (event) => this.processed(event),
      }),
    ];
  }

  close(): void {
    for (const stop of this.stops) stop();
  }

  private send(event: EnqueueEvent): void {
    const span = this.begin('send', event, event.fn, context.active());
    if (event.count > 1) span.setAttribute('messaging.batch.message_count', event.count);
    if (!event.headers) return;
    const carrier: Record<string, string> = {};
    propagation.inject(trace.setSpan(context.active(), span), carrier);
    for (const [name, value] of Object.entries(carrier))
      if (isCarried(name, value)) event.headers[name.toLowerCase()] = value;
  }

  private sent(event: EnqueueEvent): void {
    const span = this.spans.get(event);
    if (!span) return;
    const { ids = [], count } = event;
    if (count === 1 && ids[0] !== undefined) span.setAttribute('messaging.message.id', ids[0]);
    if (count > 1) span.setAttribute('gearmonkey.job.ids', ids.slice(0, MAX_IDS));
    if (event.error !== undefined) fail(span, event.error);
    span.end();
  }

  /** A handler has no context of its own before: it runs outside of every AsyncLocalStorage. */
  private process(event: RunEvent): void {
    const { claim, attempt } = event;
    const sender = senderOf(claim.options.headers);
    const remote = trace.getSpanContext(sender);
    const isChild = this.relation === 'parent';
    // Baggage travels in both cases; the span of the sender only with `parent`.
    const outer = isChild ? sender : trace.deleteSpan(sender);
    const links = !isChild && remote ? [{ context: remote }] : [];
    const span = this.begin('process', event, claim.fn, outer, links);
    span.setAttributes({ 'messaging.message.id': claim.id, 'gearmonkey.job.attempt': attempt });
    const inner = trace.setSpan(outer, span);
    event.runIn = (run) => context.with(inner, run);
  }

  private processed(event: RunEvent): void {
    const span = this.spans.get(event);
    if (!span) return;
    if (event.end !== undefined) span.setAttribute('gearmonkey.job.outcome', event.end);
    if (event.error !== undefined) fail(span, event.error);
    span.end();
  }

  private begin(
    operation: keyof typeof OPERATIONS,
    event: InstrumentedEvent,
    fn: string,
    within: Context,
    links: NonNullable<Parameters<Tracer['startSpan']>[1]>['links'] = [],
  ): Span {
    const attributes: Attributes = {
      'messaging.system': event.system,
      'messaging.operation.name': operation,
      'messaging.operation.type': operation,
      'messaging.destination.name': fn,
      ...addressAttributes(event.server),
    };
    const kind = OPERATIONS[operation];
    const span = this.tracer.startSpan(`${operation} ${fn}`, { kind, attributes, links }, within);
    this.spans.set(event, span);
    return span;
  }
}

/** The context in which a job was enqueued; that of no trace if there is none, or if its headers are malformed. */
function senderOf(headers: Readonly<Record<string, string>> | undefined): Context {
  if (!headers) return ROOT_CONTEXT;
  const carrier = Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => isCarried(name, value)),
  );
  try {
    return propagation.extract(ROOT_CONTEXT, carrier);
  } catch {
    return ROOT_CONTEXT;
  }
}

function isCarried(name: string, value: unknown): boolean {
  return FIELDS.includes(name.toLowerCase()) && typeof value === 'string' && value.length <= MAX_HEADER;
}

/** `HOST:PORT`; other addresses, such as `memory:` or a cluster's, as they are. They have no credentials. */
function addressAttributes(server: string | undefined): Attributes {
  const [, host, port] = /^([^\s,/@]+):(\d+)$/.exec(server ?? '') ?? [];
  if (host === undefined) return server === undefined ? {} : { 'server.address': server };
  return { 'server.address': host, 'server.port': Number(port) };
}

/** The stack stays in the job: a trace is read by more people. */
function fail(span: Span, error: unknown): void {
  const { name, message: text } = describe(error);
  const message = withoutSecrets(text);
  span.setAttribute('error.type', name);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
  span.recordException({ name, message });
}

function describe(error: unknown): Pick<JobErrorInfo, 'name' | 'message'> {
  if (isErrorInfo(error)) return error;
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: 'Error', message: String(error) };
}
