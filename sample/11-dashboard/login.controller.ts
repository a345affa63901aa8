import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  Post,
  Redirect,
  Req,
  Res,
  UnauthorizedException,
} from '@nestjs/common';
import { Sessions } from './sessions.js';
import { COOKIE, Public, sessionOf, type AppRequest } from './signed-in.guard.js';

const PAGE = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>Sign in</title>
  <style>
    body { font: 16px/1.5 system-ui, sans-serif; max-width: 24rem; margin: 3rem auto; padding: 0 1rem }
    label, button { display: block; margin: 0 0 1rem }
    input { display: block; width: 100% }
  </style>
  <h1>Sign in</h1>
  <form method="post" action="/login">
    <label>Name <input name="name" autocomplete="username" required /></label>
    <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
    <button>Sign in</button>
  </form>
  <form method="post" action="/logout"><button>Sign out</button></form>
</html>
`;

@Controller()
export class LoginController {
  constructor(private readonly sessions: Sessions) {}

  @Public()
  @Get('login')
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return PAGE;
  }

  /** A real app counts wrong passwords here, such as with @nestjs/throttler. */
  @Public()
  @Post('login')
  @Redirect('/jobs/', 303)
  login(
    @Req() { secure }: AppRequest,
    @Body() { name, password }: { name?: unknown; password?: unknown },
    @Res({ passthrough: true }) response: { setHeader(name: string, value: string): void },
  ): void {
    const id = this.sessions.begin(String(name), String(password));
    if (id === undefined) throw new UnauthorizedException('Wrong name or password.');
    const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
    response.setHeader('set-cookie', `${COOKIE}=${id}; ${attributes}`);
  }

  @Post('logout')
  @HttpCode(303)
  @Header('location', '/login')
  logout(@Req() request: AppRequest): void {
    this.sessions.end(sessionOf(request));
  }
}
