import {
  Injectable,
  SetMetadata,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Sessions, type User } from './sessions.js';

/** What this app needs of Express' request. */
export interface AppRequest {
  readonly headers: { readonly cookie?: string };
  readonly secure: boolean;
  user?: User;
}

export const COOKIE = 'session';

/** For routes that need no user. */
export const Public = () => SetMetadata('public', true);

/** The id of the request's session. */
export function sessionOf({ headers }: AppRequest): string {
  return new RegExp(`(?:^|; )${COOKIE}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1] ?? '';
}

/** Guards all routes of the app, and with them the dashboard. */
@Injectable()
export class SignedInGuard implements CanActivate {
  constructor(
    private readonly sessions: Sessions,
    private readonly reflector: Reflector,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<AppRequest>();
    const user = this.sessions.userOf(sessionOf(request));
    if (user) request.user = user;
    else if (!this.reflector.get<boolean>('public', context.getHandler())) throw new UnauthorizedException();
    return true;
  }
}
