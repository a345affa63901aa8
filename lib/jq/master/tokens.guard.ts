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
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { MASTER_SETTINGS, type MasterSettings, type Role } from './master-options.js';

const ROLE = 'gearmonkey:jq-role';

/** Who may call these routes, once tokens are given. Without a role, everybody may. */
export const ForRole = (role: Role) => SetMetadata(ROLE, role);

interface KnownToken {
  readonly role: Role;
  readonly digest: Buffer;
}

/** Bearer tokens: off until the first is given; then every role needs one, and an admin's is good for all. */
@Injectable()
export class TokensGuard implements CanActivate {
  private readonly tokens: readonly KnownToken[];

  constructor(
    private readonly reflector: Reflector,
    @Inject(MASTER_SETTINGS) { tokens }: MasterSettings,
  ) {
    const roles = Object.keys(tokens) as Role[];
    this.tokens = roles.flatMap((role) =>
      (tokens[role] ?? []).map((text) => ({ role, digest: digest(text) })),
    );
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.tokens.length === 0) return true;
    const role = this.reflector.getAllAndOverride<Role | undefined>(ROLE, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (role === undefined) return true;
    const token = bearer(context.switchToHttp().getRequest<IncomingMessage>());
    if (token === undefined) throw new UnauthorizedException('Send a token: Authorization: Bearer …');
    const given = digest(token);
    const known = this.tokens.filter((each) => timingSafeEqual(each.digest, given));
    if (known.length === 0) throw new UnauthorizedException('This token is not known.');
    if (known.some((each) => each.role === role || each.role === 'admin')) return true;
    throw new ForbiddenException(`This token is not for this: it wants the role "${role}".`);
  }
}

/** Of one length, so that they can be compared in constant time. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function bearer({ headers: { authorization } }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
