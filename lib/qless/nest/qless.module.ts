import { ConfigurableModuleBuilder, Module, type OnApplicationShutdown } from '@nestjs/common';
import { QlessClient, type QlessClientOptions } from '../client/qless-client.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<QlessClientOptions>({
  moduleName: 'Qless',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createQlessOptions')
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
