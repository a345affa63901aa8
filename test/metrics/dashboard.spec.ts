import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { GearMonkeyMetricsModule } from 'nestjs-gearmonkey/metrics';
import { useApps } from '../support/use-apps.js';

const read = (path: string) => readFileSync(new URL(`../../docs/operate/${path}`, import.meta.url), 'utf8');

/** The metrics that a text names, without the suffixes of histograms. */
function namesIn(text: string): string[] {
  const names = [...text.matchAll(/\bgearmonkey_[a-z_]+/g)].map(([name]) =>
    name.replace(/_seconds_(bucket|count|sum)$/, '_seconds'),
  );
  return [...new Set(names)].sort();
}

describe('the metrics in the documents', () => {
  const apps = useApps();

  async function registered(): Promise<string[]> {
    const registry = new Registry();
    await apps.start({
      imports: [
        GearMonkeyModule.forRoot({ connection: 'memory:' }),
        GearMonkeyMetricsModule.forRoot({ registry }),
      ],
    });
    return registry
      .getMetricsAsArray()
      .map(({ name }) => name)
      .sort();
  }

  it('are all on the dashboard of Grafana, which has no others', async () => {
    const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
      panels: { targets: { expr: string }[] }[];
    };
    const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(namesIn(expressions.join('\n'))).toEqual(await registered());
  });

  it('are all in the page on metrics, which has no others', async () => {
    expect(namesIn(read('metrics.md'))).toEqual(await registered());
  });
});
