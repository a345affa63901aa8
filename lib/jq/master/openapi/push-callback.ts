import { MESSAGE_PACK } from '../../wire/media-type.js';
import { SIGNATURE_HEADER } from '../../wire/signature.js';
import { text, ref, type Schema } from './schema.js';

interface Answer {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

const messagePack = (schema: string) => ({ [MESSAGE_PACK]: { schema: ref(schema) } });
const answer = (description: string): Answer => ({ description });
const LATER = 'Later: it gets no jobs until the time in Retry-After.';

/** What the master asks of a worker that registered a URL. */
export const PUSH_CALLBACK = {
  push: {
    '{$request.body#/url}/worker-job': {
      post: {
        operationId: 'worker-job',
        tags: ['Workers'],
        summary: 'Asks the worker to run a job, or several if it said `batch`',
        parameters: [
          {
            in: 'header',
            name: SIGNATURE_HEADER,
            description: 'Of masters with a secret.',
            schema: text(),
          },
        ],
        requestBody: { required: true, content: messagePack('Push') },
        responses: {
          200: {
            description: 'What it decided about each job of a batch.',
            content: messagePack('Verdicts'),
          },
          202: answer('The worker has it. It reports by POST /done. Any other 2xx says the same.'),
          400: answer('The job fails for good.'),
          404: answer('The worker does not know its name: another one may.'),
          410: answer('That worker no longer exists.'),
          429: answer(LATER),
          503: answer(LATER),
        },
      },
      head: {
        operationId: 'worker-job-head',
        tags: ['Workers'],
        summary: 'Asks a worker that was silent for long whether it is there',
        responses: {
          410: answer('That worker no longer exists.'),
          default: answer('Any other answer says that it is there.'),
        },
      },
    },
  },
} as const;
