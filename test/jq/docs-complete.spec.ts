import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { openApiDocument } from '../../lib/jq/master/openapi/document.js';
import { FLAGS } from '../../lib/cli/jq-master.flags.js';

const PAGES = ['systems/jq', 'systems/jq-reference', 'operate/jq-administration', 'operate/jq-security'].map(
  (page) => readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'),
);
const TEXT = PAGES.join('\n');

describe('the documents of JQ', () => {
  it('have every route of the OpenAPI document', () => {
    const routes = Object.entries(openApiDocument().paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `\`${method.toUpperCase()} ${path}`),
    );
    expect(routes.length).toBeGreaterThan(30);
    expect(routes.filter((route) => !TEXT.includes(route))).toEqual([]);
  });

  it('have every flag of jq-master, and no other', () => {
    const known = FLAGS.map((flag) => `--${flag}`);
    expect(known).toEqual(
      expect.arrayContaining(['--redis', '--pusher-token', '--push-timeout', '--no-docs']),
    );
    expect(known.filter((flag) => !TEXT.includes(`\`${flag}\``))).toEqual([]);
    const named = [...TEXT.matchAll(/`(--[a-z-]+)`/g)].map(([, flag]) => flag);
    const others = ['--help', '--ignore-scripts'];
    expect(named.filter((flag) => ![...others, ...known].includes(flag ?? ''))).toEqual([]);
  });
});
