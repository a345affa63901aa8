import {
  ConfigurableModuleBuilder,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { JqMaster } from '../master/listen-master.js';
import type { JqMasterOptions } from '../master/master-options.js';
import { hideOptions } from '../../nest/hide-options.js';
import { startJqMaster } from './start-jq-master.js';
import { hideFields, showAs } from '../../job/show-as.js';

const OPTIONS = Symbol('EmbeddedJqMasterOptions');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<JqMasterOptions>({
  moduleName: 'JqMaster',
  optionsInjectionToken: OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createJqMasterOptions')
  .setExtras({}, hideOptions)
  .build();

/** The master that runs inside this app, on its own port. */
@Injectable()
export class EmbeddedJqMaster implements OnApplicationBootstrap, OnApplicationShutdown {
  static {
    showAs(EmbeddedJqMaster, ({ url }) => ({ url }));
  }

  private master?: JqMaster;

  /** @internal */
  constructor(@Inject(OPTIONS) private readonly options: JqMasterOptions) {
    hideFields(this);
  }

  /** Where it listens; absent before the app has started and after it was closed. */
  get url(): string | undefined {
    return this.master?.url;
  }

  async onApplicationBootstrap(): Promise<void> {
    this.master = await startJqMaster(this.options);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.master?.close();
    delete this.master;
  }
}

/**
 * Runs a master inside an app: `JqMasterModule.forRoot({ connection, port })`. It listens by itself, so the app's
 * own routes, guards and filters don't meet the master's.
 */
@Module({ providers: [EmbeddedJqMaster], exports: [EmbeddedJqMaster] })
export class JqMasterModule extends ConfigurableModuleClass {}
