import { describe, expect, it } from '@jest/globals';
import { EngineLife, type EngineMode, type EngineRight } from '../../../lib/jq/engine/engine-life.js';

const RIGHTS: readonly EngineRight[] = ['answer', 'hand out', 'hold', 'repeat', 'sweep'];

function after(...modes: readonly EngineMode[]): EngineLife {
  const life = new EngineLife();
  for (const mode of modes) if (!life.enter(mode)) throw new Error(`${mode} does not follow ${life.mode}`);
  return life;
}

describe("an engine's life", () => {
  it.each([
    [[], ['answer', 'hold', 'repeat', 'sweep']],
    [['running'], RIGHTS],
    [
      ['running', 'stopping'],
      ['answer', 'sweep'],
    ],
    [['running', 'stopping', 'closing'], ['answer']],
    [['stopping', 'closing', 'closed'], []],
  ] as const)('after %j lets it %j', (modes, rights) => {
    const life = after(...modes);
    expect(RIGHTS.filter((right) => life.may(right))).toEqual(rights);
  });

  it('does not run again once it has been stopped, as when Redis is reached only then', () => {
    const life = after('stopping');
    expect(life.enter('running')).toBe(false);
    expect(life.mode).toBe('stopping');
  });

  it('does not close before it has stopped', () => {
    const life = after('running');
    expect(life.enter('closing')).toBe(false);
    expect(life.enter('closed')).toBe(false);
    expect(life.mode).toBe('running');
  });
});
