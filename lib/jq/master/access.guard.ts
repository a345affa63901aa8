import {
  ForbiddenException,
  Inject,
  Injectable,
  SetMetadata,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { IncomingMessage } from 'node:http';
import { secretDigest, secretEquals } from '../../net/secret-equals.js';
import { PageGuard } from '../http/page-guard.js';
import { setToken } from './client-identity.js';
import { MASTER_SETTINGS, type MasterSettings, type Role } from './master-options.js';

const ROLE = 'gearmonkey:jq-role';

/** The role that may call these routes if there are tokens. Without a role, every client may. */
export const ForRole = (role: Role) => SetMetadata(ROLE, role);

interface KnownToken {
  readonly role: Role;
  /** Its index in its role's list. */
  readonly index: number;
  readonly digest: Buffer;
}

/**
 * Bearer tokens: off until the first one is configured; then every role needs one, and an admin's works for all. Without
 * tokens, other sites' pages are refused. It decides by a request's head, before its body is read.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  private readonly tokens: readonly KnownToken[];
  private readonly pages: PageGuard;

  constructor(
    private readonly reflector: Reflector,
    @Inject(MASTER_SETTINGS) { tokens, hosts }: MasterSettings,
  ) {
    this.pages = new PageGuard(hosts, 'Give the master tokens, or list the name with `hosts` (--hosts).');
    const roles = Object.keys(tokens) as Role[];
    this.tokens = roles.flatMap((role) =>
      (tokens[role] ?? []).map((text, index) => ({ role, index, digest: secretDigest(text) })),
    );
  }

  canActivate(context: ExecutionContext): boolean {
    const role = this.reflector.getAllAndOverride<Role | undefined>(ROLE, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (role === undefined) return true;
    const request = context.switchToHttp().getRequest<IncomingMessage>();
    if (this.tokens.length === 0) {
      this.pages.check(request.headers);
      return true;
    }
    const token = bearer(request);
    if (token === undefined) throw new UnauthorizedException('Send a token: Authorization: Bearer …');
    const given = secretDigest(token);
    const known = this.tokens.filter((each) => secretEquals(given, each.digest));
    if (known.length === 0) throw new UnauthorizedException('This token is not known.');
    const good = known.find((each) => each.role === role || each.role === 'admin');
    if (good) {
      setToken(request, good.role, good.index);
      return true;
    }
    throw new ForbiddenException(`This token is not for this: it wants the role "${role}".`);
  }
}

function bearer({ headers: { authorization } }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
