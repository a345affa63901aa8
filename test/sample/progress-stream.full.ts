import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/until.js';
import { SampleProcess, stopSamples } from './sample-process.js';

interface StreamEvent {
  type: string;
  data: { id: string; status: string; dividend?: number; divisor?: number; output?: { frames: number } };
}

describe('sample/02-progress-stream', () => {
  let sample: SampleProcess;
  let url: string;

  beforeEach(async () => {
    sample = new SampleProcess(['02-progress-stream'], { PORT: '0' });
    url = await sample.says(/^Open (\S+)$/m);
  });
  afterEach(stopSamples);

  async function start(frames: number): Promise<{ id: string; events: string }> {
    const response = await fetch(`${url}/renders?frames=${frames}`, { method: 'POST' });
    return (await response.json()) as { id: string; events: string };
  }

  it('streams the progress of a job until it has finished', async () => {
    const { events } = await start(5);
    const response = await fetch(url + events);
    expect(response.headers.get('content-type')).toBe('text/event-stream');

    const seen = await readAll(response);
    expect(seen.at(-1)).toMatchObject({
      type: 'finished',
      data: { state: 'succeeded', output: { frames: 5 } },
    });
    const parts = seen.flatMap(({ data: { dividend, divisor } }) =>
      dividend ? [`${dividend}/${divisor}`] : [],
    );
    // What is read and what is told may be the same, or skip one that was too quick.
    expect(parts).toContain('4/5');
    expect(parts).toEqual(parts.toSorted());
  });

  it('answers for a finished job with one event', async () => {
    const { id, events } = await start(1);
    await eventually(async () => expect(await stateOf(id)).toBe('succeeded'));
    const seen = await readAll(await fetch(url + events));
    expect(seen.map(({ type }) => type)).toEqual(['finished']);
  });

  it('unsubscribes when the browser disconnects, and the job continues', async () => {
    const { id, events } = await start(20);
    const leaving = new AbortController();
    const response = await fetch(url + events, { signal: leaving.signal });
    for await (const { data } of eventsOf(response)) {
      if (data.dividend !== undefined) break;
    }
    leaving.abort();
    await sample.says(new RegExp(`No more subscribers to render ${id} here`));
    await expect(stateOf(id)).resolves.toBe('running');
    await eventually(async () => expect(await stateOf(id)).toBe('succeeded'));
  });

  it('has no stream for a missing job', async () => {
    const response = await fetch(`${url}/renders/99/events`);
    expect(response.status).toBe(404);
    await expect(response.json()).resolves.toMatchObject({ message: 'There is no render 99.' });
  });

  it('has a page to try it with', async () => {
    const page = await (await fetch(url)).text();
    expect(page).toContain('new EventSource(events)');
  });

  async function stateOf(id: string): Promise<string> {
    const job = (await (await fetch(`${url}/renders/${id}`)).json()) as { state: string };
    return job.state;
  }
});

async function readAll(response: Response): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

/** A client's reading of Server-Sent Events: fields a line, events parted by an empty one. */
async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  let text = '';
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const event = parse(text.slice(0, end));
      text = text.slice(end + 2);
      if (event) yield event;
    }
  }
}

function parse(block: string): StreamEvent | undefined {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return { type: fields.get('event') ?? 'message', data: JSON.parse(data) as StreamEvent['data'] };
}
