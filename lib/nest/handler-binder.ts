import { Injectable } from '@nestjs/common';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import type { FunctionRef } from '../job/job-definition.js';
import {
  bindHandler,
  type HandlerBinding,
  type HandlerOptions,
  type JobHandler,
} from '../worker/job-handler.js';
import { ConfiguredOptions } from './configured-options.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';
import { HandlerContext } from './handler-context.js';
import { moduleRefOf } from './scoped-instance.js';
import { HANDLER_OPTIONS } from './worker.decorator.js';
import type { WorkerBinding } from './worker.explorer.js';

/** Makes the handler of a decorated method, with options from the app's configuration. */
@Injectable()
export class HandlerBinder {
  constructor(
    private readonly contexts: HandlerContext,
    private readonly options: ConfiguredOptions,
  ) {}

  /** Returns undefined if its options disable it. @throws ConfigurationError, InvalidOptionError */
  async bind(instance: GearMonkeyInstance, binding: WorkerBinding): Promise<HandlerBinding | undefined> {
    const { annotation, label, wrapper } = binding;
    const user = `@Worker on ${label}`;
    const host = moduleRefOf(wrapper);
    const { enabled = true, ...options } = await this.options.of(annotation, user, HANDLER_OPTIONS, host);
    checkEnabled(enabled, label);
    if (!enabled) return undefined;
    const { beforeRun, options: given } = instance;
    const handle = this.contexts.handlerOf(binding, given.globalEnhancers ?? false, beforeRun);
    return boundTo(instance, annotation.ref, options, handle, label);
  }
}

/** Binds a handler; its own `jobLimits` override the instance's. @throws ConfigurationError, InvalidOptionError that name the handler */
export function boundTo(
  instance: GearMonkeyInstance,
  ref: FunctionRef,
  options: HandlerOptions,
  handle: JobHandler,
  label: string,
): HandlerBinding {
  const { jobLimits = instance.options.jobLimits, ...handler } = options;
  const limits = jobLimits === undefined ? {} : { jobLimits };
  try {
    return bindHandler(typeof ref === 'string' ? { name: ref } : ref, { ...handler, ...limits }, handle);
  } catch (error) {
    if (error instanceof ConfigurationError) throw new ConfigurationError(`${label}: ${error.message}`);
    if (!(error instanceof InvalidOptionError)) throw error;
    throw new InvalidOptionError(`${error.option} of ${label}`, error.value, error.expected);
  }
}

/** Refuses text such as `'false'`, which would not disable anything. @throws InvalidOptionError */
export function checkEnabled(enabled: unknown, label: string): void {
  if (typeof enabled !== 'boolean')
    throw new InvalidOptionError(`enabled of ${label}`, enabled, 'true or false');
}
