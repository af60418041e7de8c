/**
 * The form in which a model file describes a job API that no adapter of ours knows: what to send, and how to read the
 * responses. Everything that depends on the task or on a response is a JSONata expression; docs/examples has two
 * complete ones. A file with an expression that cannot be parsed is rejected, so that no task fails because of it.
 *
 * What an expression sees:
 * - in `submit`: the input, with the binding's `parameters` over it, as the document;
 * - everywhere else: the provider's JSON as the document, and the input as `$input`;
 * - `$model`, `$taskId`, `$jobId` (once there is one), `$httpStatus` (of a response), and in `submit` `$hookUrl`,
 *   which is absent if the provider cannot call back.
 */
import jsonata from 'jsonata';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { UpstreamBinding } from '../provider.ts';

const MAX_EXPRESSION_LENGTH = 8_000;

const expression = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_EXPRESSION_LENGTH, description: `JSONata. ${description}` });

const HEADER_NAME = '^[A-Za-z][A-Za-z0-9-]{0,63}$';

const HeaderExpressions = Type.Record(Type.String({ pattern: HEADER_NAME }), expression('The value, a text.'), {
  maxProperties: 20,
});

const Path = expression('A text below the base address that begins with `/`, with a query where there is one.');

/** HTTP statuses that mean that the job has failed. */
const Statuses = Type.Array(Type.Integer({ minimum: 400, maximum: 599 }), { maxItems: 50, uniqueItems: true });

export const HttpBindingSchema = Type.Object(
  {
    auth: Type.Optional(
      Type.Object(
        {
          scheme: Type.Unsafe<'bearer' | 'header' | 'basic' | 'query'>({
            type: 'string',
            enum: ['bearer', 'header', 'basic', 'query'],
            description: '`basic` takes a secret of the form `user:password`.',
          }),
          name: Type.Optional(
            Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$', description: 'Of the header or the parameter.' }),
          ),
          prefix: Type.Optional(
            Type.String({
              pattern: '^[\\x20-\\x7e]{1,32}$',
              description: 'The prefix of the secret in a header.',
            }),
          ),
        },
        { additionalProperties: false, description: 'How the secret is sent. Default: `Authorization: Bearer`.' },
      ),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: HEADER_NAME }), Type.String({ pattern: '^[\\x20-\\x7e]{1,1000}$' }), {
        maxProperties: 20,
        description: 'Sent unchanged with every request.',
      }),
    ),
    isSubmitRepeatable: Type.Optional(
      Type.Boolean({
        description: 'Whether submitting twice under the same `$taskId`, which it must send, is the same as once.',
      }),
    ),
    submit: Type.Object(
      {
        method: Type.Optional(Type.Unsafe<'POST' | 'PUT'>({ type: 'string', enum: ['POST', 'PUT'] })),
        path: Path,
        headers: Type.Optional(HeaderExpressions),
        body: expression('Sent as JSON.'),
        refusal: Type.Optional(
          expression('Of an answer that took no work: the reason, one of the closed list; nothing: by the status.'),
        ),
      },
      { additionalProperties: false },
    ),
    jobId: Type.Optional(expression('Of the answer to a submit. Absent: that answer brings the outputs.')),
    poll: Type.Optional(
      Type.Object(
        {
          method: Type.Optional(Type.Unsafe<'GET' | 'POST'>({ type: 'string', enum: ['GET', 'POST'] })),
          path: Path,
          body: Type.Optional(expression('Sent as JSON; default: nothing.')),
          state: expression('`running`, `done` or `failed`; anything else counts as no response, and is polled again.'),
          progress: Type.Optional(expression('0 to 1.')),
          everySeconds: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 600,
              description: 'The shortest interval between polls that the provider accepts.',
            }),
          ),
          failedStatuses: Type.Optional(Statuses),
        },
        { additionalProperties: false, description: 'Statuses of failed jobs: 404 and 410 where none are named.' },
      ),
    ),
    result: Type.Optional(
      Type.Object(
        { path: Path, failedStatuses: Type.Optional(Statuses) },
        {
          additionalProperties: false,
          description: 'Fetched with GET when a job is done, where its state does not bring the outputs.',
        },
      ),
    ),
    outputs: expression('The files: addresses, `data:` URLs or `{"base64": …}`, one or a list. No others are taken.'),
    reason: Type.Optional(
      expression(
        'Of a failed job: one of the closed list. Default: `provider_error`. Without jobs: of an answer without outputs.',
      ),
    ),
    cancel: Type.Optional(
      Type.Object(
        {
          method: Type.Optional(
            Type.Unsafe<'POST' | 'PUT' | 'DELETE'>({ type: 'string', enum: ['POST', 'PUT', 'DELETE'] }),
          ),
          path: Path,
          body: Type.Optional(expression('Sent as JSON; default: nothing.')),
          asksFirst: Type.Optional(
            Type.Boolean({
              description: 'Set where cancelling a finished job removes it: the job is polled first.',
            }),
          ),
          outcome: Type.Optional(
            expression('`cancelled`, `too_late` or `unsupported`. Default: by the status, 2xx being `cancelled`.'),
          ),
          cost: Type.Optional(
            expression('What is billed all the same, in USD; of the answer to this request or else of a last poll.'),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export type HttpBinding = Static<typeof HttpBindingSchema>;

/** An upstream of protocol `http`. */
export interface HttpUpstream extends UpstreamBinding {
  readonly http: HttpBinding;
}

/** @returns undefined if the upstream has none: its model file was written for another protocol. */
export function findBinding(upstream: UpstreamBinding): HttpBinding | undefined {
  return hasBinding(upstream) ? upstream.http : undefined;
}

/** Its form was validated when the model file was read: a pinned one keeps the form of the release that read it. */
function hasBinding(upstream: UpstreamBinding): upstream is HttpUpstream {
  return 'http' in upstream;
}

/** They make an expression out of data, or return another result each time: a repeated submit must stay the same. */
const BARRED_FUNCTIONS: readonly string[] = ['eval', 'now', 'millis', 'random', 'shuffle'];

/** Set by the client itself, or a way around the credential's name. */
const BARRED_HEADERS: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'host',
  'connection',
  'transfer-encoding',
  'content-length',
  'content-type',
  'accept',
  'accept-encoding',
  'user-agent',
  'expect',
  'upgrade',
];

/** Whether any expression of a submit reads this variable: `taskId`, `hookUrl`. */
export function submitReads({ submit }: HttpBinding, variable: 'taskId' | 'hookUrl'): boolean {
  const texts = [submit.path, submit.body, ...Object.values(submit.headers ?? {})];
  return texts.some((text) => variablesOf(jsonata(text).ast()).has(variable));
}

/**
 * What is wrong with a binding beyond its form.
 *
 * @returns the first problem with its position, or undefined.
 */
export function findBindingProblem(binding: HttpBinding): string | undefined {
  for (const [name, text] of expressionsOf(binding)) {
    const problem = findExpressionProblem(text);
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  const { auth, headers = {}, submit, poll, jobId, result, cancel } = binding;
  const isNamed = auth?.scheme === 'header' || auth?.scheme === 'query';
  if (isNamed && auth.name === undefined) return 'auth.name: the scheme needs one';
  for (const name of [...Object.keys(headers), ...Object.keys(submit.headers ?? {})]) {
    if (BARRED_HEADERS.includes(name.toLowerCase())) return `headers: ${name} is not for a model file to set`;
  }
  if ((jobId === undefined) !== (poll === undefined)) return 'poll: it and jobId need one another';
  if (poll === undefined && (result ?? cancel) !== undefined) return 'jobId: missing; result and cancel need one';
  if (binding.isSubmitRepeatable === true && !submitReads(binding, 'taskId')) {
    return 'isSubmitRepeatable: no expression of submit sends $taskId';
  }
  return undefined;
}

function expressionsOf({ submit, jobId, poll, result, outputs, reason, cancel }: HttpBinding) {
  const all: Readonly<Record<string, string | undefined>> = {
    'submit.path': submit.path,
    'submit.body': submit.body,
    'submit.refusal': submit.refusal,
    jobId,
    'poll.path': poll?.path,
    'poll.body': poll?.body,
    'poll.state': poll?.state,
    'poll.progress': poll?.progress,
    'result.path': result?.path,
    outputs,
    reason,
    'cancel.path': cancel?.path,
    'cancel.body': cancel?.body,
    'cancel.outcome': cancel?.outcome,
    'cancel.cost': cancel?.cost,
  };
  const headers = Object.entries(submit.headers ?? {}).map(([name, text]) => [`submit.headers.${name}`, text] as const);
  return [...Object.entries(all), ...headers].flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text] as const],
  );
}

function findExpressionProblem(text: string): string | undefined {
  let variables;
  try {
    variables = variablesOf(jsonata(text).ast());
  } catch (error) {
    return `not JSONata: ${error instanceof Error ? error.message : 'it cannot be read'}`;
  }
  const barred = BARRED_FUNCTIONS.find((name) => variables.has(name));
  return barred === undefined ? undefined : `$${barred} is not available here`;
}

/** The names of all variables and functions in a syntax tree. */
function variablesOf(tree: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  const rest: unknown[] = [tree];
  while (rest.length > 0) {
    const node = rest.pop();
    if (typeof node !== 'object' || node === null || seen.has(node)) continue;
    seen.add(node);
    if ('type' in node && node.type === 'variable' && 'value' in node) names.add(String(node.value));
    rest.push(...Object.values(node));
  }
  return names;
}
