import { describe, expect, it } from '@jest/globals';
import { ConsoleLogger } from '@nestjs/common';
import { ExternalContextCreator, ModulesContainer } from '@nestjs/core';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { GearMonkeyCoreModule } from '../../lib/nest/gearmonkey.module.js';
import { useApps } from '../support/use-apps.js';

/** Fields of Nest that are not public: a version that changes them is to be told apart from a mistake of ours. */
describe('what this package uses of the inside of Nest', () => {
  const apps = useApps();

  it.each([
    'guardsContextCreator',
    'guardsConsumer',
    'interceptorsContextCreator',
    'interceptorsConsumer',
    'modulesContainer',
    'pipesContextCreator',
    'pipesConsumer',
    'filtersContextCreator',
    'contextUtils',
  ])('is %s of its context creator (lib/nest/job-context.creator.ts)', async (field) => {
    const app = await apps.start({});
    expect(app.get(ExternalContextCreator, { strict: false })).toHaveProperty(field, expect.any(Object));
  });

  it('is what a console logger was made with, and that it takes fields since Nest 12 (lib/nest/nest-log.ts)', () => {
    expect(new ConsoleLogger({ json: true })['options']).toMatchObject({ json: true });
    expect('stringifyParams' in ConsoleLogger.prototype).toBe(true);
  });

  it('is the distance of a module, by which hooks are ordered (lib/nest/gearmonkey.module.ts)', async () => {
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })] });
    const modules = [...app.get(ModulesContainer, { strict: false }).values()];
    const core = modules.find(({ metatype }) => metatype === GearMonkeyCoreModule);
    expect(core?.distance).toBe(0);
    const instance = modules.find(({ metatype }) => metatype === GearMonkeyModule);
    expect(instance?.distance).toBeGreaterThan(0);
  });
});
