import { Module, type DynamicModule } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { jobd, JobdModule } from 'nestjs-gearmonkey/jobd';
import { Greeter } from './greeter.js';
import { Visitor } from './visitor.js';

@Module({})
export class AppModule {
  static on(database: string): DynamicModule {
    return {
      module: AppModule,
      imports: [
        JobdModule.forRoot({
          database,
          createTable: true,
          worker: { launcher: 'echo process of row {id}', targets: { shell: 2 } },
        }),
        GearMonkeyModule.forRoot({ source: jobd({ database, targets: ['greet'] }) }),
      ],
      providers: [Greeter, Visitor],
    };
  }
}
