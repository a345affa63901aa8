import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments, type Document } from 'yaml';
import { blocks, textOf } from './support/documents.js';

const PAGE = 'docs/operate/containers.md';
const own = blocks.filter(({ path }) => path === PAGE);
const codeOf = (file: string) => own.find((block) => block.file === file)?.code ?? '';
const documentsOf = (file: string) => parseAllDocuments(codeOf(file)) as Document.Parsed[];

/** `25s` or 30. */
const secondsOf = (text: unknown) => Number.parseInt(String(text), 10);
const shutdownTimeout = secondsOf(/shutdownTimeout: '(\d+s)'/.exec(codeOf('main.ts'))?.[1]);

describe('docs/operate/containers.md', () => {
  it.each(['compose.yaml', 'worker.yaml', 'scaler.yaml'])(
    'has a %s that is YAML, with every key once',
    (file) => {
      const documents = documentsOf(file);
      expect(documents).toHaveLength(1);
      expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    },
  );

  it('gives running jobs more time to end than the module waits for them', () => {
    const compose = documentsOf('compose.yaml')[0];
    const pod = documentsOf('worker.yaml')[0];
    const times = [
      compose?.getIn(['services', 'worker', 'stop_grace_period']),
      pod?.getIn(['spec', 'template', 'spec', 'terminationGracePeriodSeconds']),
    ].map(secondsOf);
    expect(times.map((time) => time - shutdownTimeout)).toEqual([5, 5]);
  });

  it('has probes of routes that its program has', () => {
    const routes = [...codeOf('main.ts').matchAll(/@Get\('(\w+)'\)/g)].map(([, route]) => `/health/${route}`);
    const container = ['spec', 'template', 'spec', 'containers', 0];
    const pod = documentsOf('worker.yaml')[0];
    const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'];
    const asked = probes.map((probe) => pod?.getIn([...container, probe, 'httpGet', 'path']));
    expect(asked).toEqual(['/health/live', '/health/live', '/health/ready']);
    expect(routes).toEqual(['live', 'ready'].map((route) => `/health/${route}`));
  });

  it('uses variables and metrics that there are', () => {
    const variables = [...textOf(PAGE).matchAll(/GEARMONKEY_\w+/g)].map(([name]) => name);
    for (const name of new Set(variables)) expect(textOf('docs/guides/roles.md')).toContain(name);
    const query = String(documentsOf('scaler.yaml')[0]?.getIn(['spec', 'triggers', 0, 'metadata', 'query']));
    const [metric = 'none'] = /gearmonkey_\w+/.exec(query) ?? [];
    expect(textOf('docs/operate/metrics.md')).toContain(`| \`${metric}\``);
  });

  it('starts Node itself, so that signals reach it', () => {
    expect(own.find(({ language }) => language === 'dockerfile')?.code).toMatch(
      /^CMD \["node", "dist\/main\.js"\]$/m,
    );
  });
});
