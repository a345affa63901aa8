import { computed, signal } from '@preact/signals';
import { ApiFailure, get, type Ability, type Action, type InstanceView, type Session } from './api.js';
import { route } from './route.js';

/** The version of the API that this page knows. */
const PROTOCOL = 1;

export const session = signal<Session | undefined>(undefined);
export const sessionError = signal<ApiFailure | undefined>(undefined);

export async function openSession(): Promise<void> {
  try {
    const opened = await get<Session>('session');
    if ((opened.protocol as number) !== PROTOCOL)
      throw new ApiFailure(0, 'VERSION', 'The app has another version than this page. Reload the page.');
    session.value = opened;
  } catch (error) {
    sessionError.value = error instanceof ApiFailure ? error : new ApiFailure(0, 'ERROR', String(error));
  }
}

/** The instance that the address names, or the first. */
export const instance = computed<InstanceView | undefined>(() => {
  const all = session.value?.instances ?? [];
  return all.find(({ name }) => name === route.value.query['i']) ?? all[0];
});

/** Its name for requests and addresses. */
export const instanceName = computed(() => instance.value?.name ?? 'default');

export function can(ability: Ability): boolean {
  return instance.value?.can.includes(ability) ?? false;
}

export function mayAtAll(action: Action): boolean {
  return instance.value?.actions.includes(action) ?? false;
}
