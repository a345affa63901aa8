import { Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Put } from '@nestjs/common';
import type { Constraint } from '../constraints/constraint.js';
import { readConstraint } from '../constraints/read-constraint.js';
import { JqEngine } from '../engine/engine.js';
import type { Packable } from '../message-pack/pack.js';
import { constraintNotFound, tooMany } from './http-errors.js';
import { Message } from './request.decorators.js';
import { ForRole } from './access.guard.js';

/** Limits on jobs, changed while they wait and run. */
@Controller('constraints')
@ForRole('admin')
export class ConstraintController {
  constructor(private readonly engine: JqEngine) {}

  @Get()
  async list(): Promise<Packable> {
    const { byId } = await this.engine.constraints.load();
    return { constraints: [...byId].map(([id, constraint]) => bodyOf(id, constraint)) };
  }

  @Get(':id')
  async read(@Param('id') id: string): Promise<Packable> {
    const constraint = (await this.engine.constraints.load()).byId.get(id);
    if (!constraint) throw constraintNotFound();
    return bodyOf(id, constraint);
  }

  @Post()
  async create(@Message(readConstraint) constraint: Constraint): Promise<Packable> {
    const id = await this.engine.constraints.create(constraint);
    if (id === undefined) throw tooMany('constraints');
    return bodyOf(id, constraint);
  }

  @Put(':id')
  async replace(@Param('id') id: string, @Message(readConstraint) constraint: Constraint): Promise<Packable> {
    if (!(await this.engine.constraints.replace(id, constraint))) throw constraintNotFound();
    return bodyOf(id, constraint);
  }

  @Delete(':id')
  @HttpCode(HttpStatus.NO_CONTENT)
  async remove(@Param('id') id: string): Promise<void> {
    if (!(await this.engine.constraints.remove(id))) throw constraintNotFound();
  }
}

function bodyOf(id: string, { match, per, rate, concurrency }: Constraint): Packable {
  return {
    id,
    match: match.map((condition) => ({ ...condition })),
    per,
    rate: rate && { ...rate },
    concurrency,
  };
}
