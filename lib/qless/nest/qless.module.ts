import { ConfigurableModuleBuilder, Module, type OnApplicationShutdown } from '@nestjs/common';
import { hideOptions } from '../../nest/hide-options.js';
import { QlessClient, type QlessClientOptions } from '../client/qless-client.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<QlessClientOptions>({
  moduleName: 'Qless',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createQlessOptions')
  .setExtras({}, hideOptions)
  .build();

/** `QlessModule.forRoot({ connection })` makes `QlessClient` injectable in the whole app. */
@Module({
  providers: [
    {
      provide: QlessClient,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: QlessClientOptions) => new QlessClient(options),
    },
  ],
  exports: [QlessClient],
})
export class QlessModule extends ConfigurableModuleClass implements OnApplicationShutdown {
  /** @internal */
  constructor(private readonly client: QlessClient) {
    super();
  }

  onApplicationShutdown(): void {
    this.client.close();
  }
}
