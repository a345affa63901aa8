import type { ActRequest } from '../api.js';
import { ask, type Asked } from '../actions.js';
import { instanceName } from '../session.js';

type Props = Omit<Asked, 'request'> & { request: Omit<ActRequest, 'i'>; label?: string };

/** A button that asks before anything happens. */
export function ActButton({ request, label, ...question }: Props) {
  const onClick = () => ask({ ...question, request: { i: instanceName.value, ...request } });
  return (
    <button type="button" class={question.isDangerous ? 'danger' : undefined} onClick={onClick}>
      {label ?? question.verb}
    </button>
  );
}
