import { Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { LoginController } from './login.controller.js';
import { SignedInGuard } from './signed-in.guard.js';
import { Sessions, type User } from './sessions.js';

@Injectable()
class Greeter {
  @Worker('greet')
  greet({ name }: { name: string }) {
    return `Hello ${name}`;
  }
}

@Module({
  imports: [
    GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] || 'memory:' }),
    DashboardModule.forRoot({
      path: '/jobs',
      login: '/login',
      // The guard has put the user there, as for every other route of the app.
      auth: (request) => {
        const user = request.user as User | undefined;
        return user && { name: user.name, view: true, act: user.role === 'operator' };
      },
    }),
  ],
  controllers: [LoginController],
  providers: [Greeter, Sessions, { provide: APP_GUARD, useClass: SignedInGuard }],
})
export class AppModule {}
