import { ConfigurableModuleBuilder, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { hideOptions } from '../../nest/hide-options.js';
import { JqClient, type JqClientOptions } from '../client/jq-client.js';

/** Options of `JqModule.forRoot`. */
export type JqModuleOptions = JqClientOptions;

const DEFAULT_NAME = 'default';
const OPTIONS = Symbol('JqModuleOptions');

/** The token of a module's client: the class itself for a module without a name. */
export function getJqClientToken(name: string = DEFAULT_NAME): string | typeof JqClient {
  return name === DEFAULT_NAME ? JqClient : `JqClient:${name}`;
}

/** Injects the client of the `JqModule` of that name. */
export const InjectJq = (name?: string) => Inject(getJqClientToken(name));

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<JqModuleOptions>({
  moduleName: 'Jq',
  optionsInjectionToken: OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createJqOptions')
  .setExtras({ name: DEFAULT_NAME }, (definition, { name }) => ({
    ...definition,
    global: true,
    providers: [
      ...(hideOptions(definition).providers ?? []),
      {
        provide: getJqClientToken(name),
        inject: [OPTIONS],
        useFactory: (options: JqModuleOptions) => new ClosingJqClient(options),
      },
    ],
    exports: [getJqClientToken(name)],
  }))
  .build();

/** Closes last: running jobs and other hooks may still enqueue. */
class ClosingJqClient extends JqClient implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}

/**
 * Pushes jobs to a JQ master: `JqModule.forRoot({ master })` makes `JqClient` injectable everywhere. Handlers
 * are run by `GearMonkeyModule.forRoot({ source: jq({ master, listen }) })`.
 */
@Module({})
export class JqModule extends ConfigurableModuleClass {}
