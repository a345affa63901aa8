import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { ConfigurationError } from '../job/errors.js';
import type { FunctionRef } from '../job/job-definition.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';
import { annotationOf, refuseReplaced, decoratedOf, decoratedPrototypes } from './metadata.js';
import { observerMetadata, type Observed, type ObserverAnnotation } from './observer.decorators.js';
import { RECURRING_METADATA, type RecurringAnnotation } from './recurring.decorator.js';
import { WORKER_METADATA, type WorkerAnnotation } from './worker.decorator.js';

export type HostWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A decorated method and the provider or controller it belongs to. */
export interface MethodBinding {
  readonly wrapper: HostWrapper;
  readonly method: string;
  /** `Class.method`, for messages. */
  readonly label: string;
}

export interface WorkerBinding extends MethodBinding {
  readonly annotation: WorkerAnnotation;
}

export interface ObserverBinding extends MethodBinding {
  readonly observed: Observed;
  readonly annotation: ObserverAnnotation;
}

/** A schedule in the code, and the function whose jobs it creates. */
export interface RecurringBinding extends MethodBinding {
  readonly annotation: RecurringAnnotation;
  readonly ref: FunctionRef;
  readonly instance: string;
}

/** Of a method with `@Worker`; one with `@Recurring` alone is the handler of a function of its own. */
function workerOf(handler: object): WorkerAnnotation | undefined {
  const worker = annotationOf<WorkerAnnotation>(WORKER_METADATA, handler);
  const recurring = annotationOf<RecurringAnnotation>(RECURRING_METADATA, handler);
  if (worker || !recurring) return worker;
  const { ref, instance, jobIndex } = recurring;
  return { ref, instance, jobIndex, options: {} };
}

const OBSERVED: readonly Observed[] = ['create', 'start', 'finish', 'progress'];

type Methods = Record<string, object>;

/** Finds decorated methods of providers and controllers. It starts nothing; the orchestrator does. */
@Injectable()
export class WorkerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  workers(): WorkerBinding[] {
    return this.methods().flatMap(({ handler, ...binding }) => {
      const annotation = workerOf(handler);
      return annotation ? [{ ...binding, annotation }] : [];
    });
  }

  /** @throws ConfigurationError for a schedule of another instance than its handler */
  recurring(): RecurringBinding[] {
    return this.methods().flatMap(({ handler, ...binding }) => {
      const annotation = annotationOf<RecurringAnnotation>(RECURRING_METADATA, handler);
      const worker = workerOf(handler);
      if (!annotation || !worker) return [];
      const { instance } = annotation;
      if (instance !== DEFAULT_INSTANCE && instance !== worker.instance)
        throw new ConfigurationError(
          `@Recurring on ${binding.label} is for the instance "${instance}", and @Worker for "${worker.instance}". Leave it out of @Recurring.`,
        );
      return [{ ...binding, annotation, ref: worker.ref, instance: worker.instance }];
    });
  }

  /** Decorated methods that are not called: others override them, or no module has their class. */
  unused(): string[] {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    const all = wrappers.map((wrapper) => ({ token: wrapper.token, prototype: prototypeOf(wrapper) }));
    notePlaced(all);
    const prototypes = new Set(all.flatMap(({ prototype }) => prototype ?? []));
    return [...[...prototypes].flatMap(overriddenWarnings), ...unplacedWarnings()];
  }

  observers(): ObserverBinding[] {
    return this.methods().flatMap(({ handler, ...binding }) =>
      OBSERVED.flatMap((observed) => {
        const annotation = annotationOf<ObserverAnnotation>(observerMetadata(observed), handler);
        return annotation ? [{ ...binding, observed, annotation }] : [];
      }),
    );
  }

  /** @throws ConfigurationError */
  private methods(): (MethodBinding & { handler: object })[] {
    return [...this.discovery.getProviders(), ...this.discovery.getControllers()]
      .filter((wrapper) => !wrapper.isAlias)
      .flatMap((wrapper) => {
        const prototype = prototypeOf(wrapper);
        if (!prototype) return [];
        refuseReplaced(prototype);
        return this.scanner.getAllMethodNames(prototype).map((method) => ({
          wrapper,
          method,
          label: `${prototype.constructor.name}.${method}`,
          handler: (prototype as Methods)[method] as object,
        }));
      });
  }
}

/** A request-scoped class has no instance yet, and a value or a factory's result has no class. */
function prototypeOf(wrapper: HostWrapper): object | undefined {
  if (!wrapper.isNotMetatype) return wrapper.metatype?.prototype as object | undefined;
  const instance: unknown = wrapper.isDependencyTreeStatic() ? wrapper.instance : undefined;
  return typeof instance === 'object' && instance !== null
    ? (Object.getPrototypeOf(instance) as object)
    : undefined;
}

/** How many classes a warning names. */
const MAX_NAMED = 20;

/** What a container knows of a provider or controller. */
interface Placed {
  readonly token: unknown;
  readonly prototype: object | undefined;
}

/** Prototypes of classes that an app of this process has. */
const placed = new WeakSet<object>();

/** Remembers which classes an app has, also as the classes that others extend. */
function notePlaced(all: readonly Placed[]): void {
  for (const { token, prototype } of all) {
    // The token of a mock stands for the class.
    const replaced = typeof token === 'function' ? (token.prototype as object | undefined) : undefined;
    for (const start of [prototype, replaced])
      for (let part = start ?? null; part; part = parentOf(part)) placed.add(part);
  }
}

/** A line about classes whose jobs do not run, because they are in no module. */
function unplacedWarnings(): string[] {
  const names = decoratedPrototypes()
    .filter((prototype) => !placed.has(prototype))
    .map((prototype) => prototype.constructor.name);
  if (names.length === 0) return [];
  const listed = names.slice(0, MAX_NAMED).join(', ') + (names.length > MAX_NAMED ? ', …' : '');
  return [
    `Decorated methods of ${listed} are not called: no module of this app has the class. Add it to the \`providers\` ` +
      'of a module, or set `workers: false` for an app that runs no jobs.',
  ];
}

/** Lines about methods that override a decorated one without a decorator of their own. */
function overriddenWarnings(prototype: object): string[] {
  const lines: string[] = [];
  for (let part = parentOf(prototype); part; part = parentOf(part))
    for (const { key, decorator, method } of decoratedOf(part)) {
      const handler = (prototype as Record<string, unknown>)[method];
      if (typeof handler !== 'function' || annotationOf(key, handler) !== undefined) continue;
      lines.push(
        `${prototype.constructor.name}.${method} overrides ${part.constructor.name}.${method} without its @${decorator}, ` +
          `so it is not called. Write @${decorator} above it too.`,
      );
    }
  return lines;
}

function parentOf(prototype: object): object | null {
  return Object.getPrototypeOf(prototype) as object | null;
}
