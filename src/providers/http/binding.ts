/**
 * The form in which a model file describes a job API that no adapter of ours knows: what to send, and how to read the
 * responses. Everything that depends on the task or on a response is a JSONata expression; docs/examples has
 * complete ones. A file with an expression that cannot be parsed is rejected, so that no task fails because of it.
 *
 * What an expression sees:
 * - in `submit` and `preflight.path`: the input, with the binding's `parameters` over it, as the document;
 * - in `result.path`: the last poll's answer; everywhere else: the provider's JSON as the document;
 * - the input as `$input`, and in `submit` and `upload` its files as `$media`;
 * - `$model`, `$taskId`, `$jobId` (once there is one), `$httpStatus` (of a response), and in `submit` `$hookUrl`,
 *   which is absent if the provider cannot call back, and with it `$hookSecret`.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { USAGE_NAMES } from '../../domain/provider-usage.ts';
import { HookSchema } from '../hooks/hook-rules.ts';
import type { UpstreamBinding } from '../provider.ts';
import { AuthSchema } from './auth/auth.ts';
import { HostsSchema } from './hosts.ts';

const MAX_EXPRESSION_LENGTH = 8_000;

const MEDIA_MODES = ['url', 'inline', 'upload'] as const;

/** How the files of a field reach a provider. */
export type MediaMode = (typeof MEDIA_MODES)[number];

/** The value of `outputs` that stands for the body of a response. */
export const BODY_OUTPUT = '$body';

const expression = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_EXPRESSION_LENGTH, description: `JSONata. ${description}` });

/** A field of an input, at its top level. */
const MEDIA_FIELD = '^[A-Za-z_][A-Za-z0-9_]{0,63}$';

const HEADER_NAME = '^[A-Za-z][A-Za-z0-9-]{0,63}$';

const HeaderExpressions = Type.Record(Type.String({ pattern: HEADER_NAME }), expression('The value, a text.'), {
  additionalProperties: false,
  maxProperties: 20,
  description: 'Headers of this request, each an expression.',
});

const Path = expression(
  'A path below the base URL that begins with `/`, with a query where there is one; or a URL on one of `hosts`.',
);

const RetryAfter = expression(
  'Of an answer that asks us to wait, where neither a header nor a usual field says how long: seconds, or a date.',
);

const USAGE_MEMBERS = USAGE_NAMES.map((name) => `\`${name}\``).join(', ');
/** The method of a request that sends something. */
const SendMethod = (fallback: 'POST' | 'PUT') =>
  Type.Unsafe<'POST' | 'PUT'>({ type: 'string', enum: ['POST', 'PUT'], description: `Default: \`${fallback}\`.` });

/** The name of a part of a form. */
export const FORM_PART_NAME = '^[A-Za-z0-9_.\\[\\]-]{1,100}$';

const FormPart = Type.Object(
  {
    name: Type.Optional(
      Type.String({ pattern: FORM_PART_NAME, description: 'The name of the part; `fields` has names of its own.' }),
    ),
    value: Type.Optional(expression('A text, number or boolean; a list is sent as several parts; nothing: no part.')),
    fields: Type.Optional(expression('An object, each member of which is sent as a part of that name.')),
    media: Type.Optional(Type.String({ pattern: MEDIA_FIELD, description: 'A field of the input, sent as files.' })),
    isFile: Type.Optional(Type.Boolean({ description: 'In `upload`: the part with the file.' })),
  },
  { additionalProperties: false },
);

const Form = Type.Array(FormPart, {
  minItems: 1,
  maxItems: 100,
  description: 'Sent as multipart/form-data, in this order.',
});

/** A request that takes a file of an input, before the submit. */
const Upload = Type.Object(
  {
    method: Type.Optional(SendMethod('POST')),
    path: Path,
    headers: Type.Optional(HeaderExpressions),
    body: Type.Optional(expression('Sent as JSON; the response names the URL for `send`.')),
    form: Type.Optional(Form),
    send: Type.Optional(
      Type.Object(
        {
          method: Type.Optional(SendMethod('PUT')),
          url: expression('Of the answer to the first request: where the file goes, on one of `hosts`.'),
          headers: Type.Optional(HeaderExpressions),
          form: Type.Optional(Form),
          receivesCredential: Type.Optional(
            Type.Literal(false, {
              description: 'Set where the URL is signed and the credential is not to be sent, whatever its host is.',
            }),
          ),
        },
        { additionalProperties: false, description: 'The request that sends the file. Default: a PUT of its bytes.' },
      ),
    ),
    reference: expression('Of the answer to the first request: what the provider calls the file.'),
  },
  {
    additionalProperties: false,
    description:
      'How a file is uploaded; its expressions see `$file` with `mimeType`, `name` and `byteLength`. Without `body` ' +
      'and `form` its bytes are sent.',
  },
);

/** HTTP statuses that mean that the job has failed. */
const Statuses = Type.Array(Type.Integer({ minimum: 400, maximum: 599 }), {
  maxItems: 50,
  uniqueItems: true,
  description: 'The HTTP statuses that mean that the job has failed. Others count as no response.',
});

export const HttpBindingSchema = Type.Object(
  {
    auth: Type.Optional(AuthSchema),
    hosts: Type.Optional(HostsSchema),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: HEADER_NAME }), Type.String({ pattern: '^[\\x20-\\x7e]{1,1000}$' }), {
        additionalProperties: false,
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
        method: Type.Optional(SendMethod('POST')),
        path: Path,
        headers: Type.Optional(HeaderExpressions),
        body: Type.Optional(expression('Sent as JSON.')),
        form: Type.Optional(Form),
        retryAfter: Type.Optional(RetryAfter),
        refusal: Type.Optional(
          expression(
            'Of an answer that took no work: the reason, one of the closed list; nothing: by the status. A 2xx, or ' +
              'JSON with a 5xx, that has neither job nor outputs took none if this gives a reason.',
          ),
        ),
        usage: Type.Optional(
          expression(`Of the answer that took the job: what the work consumes, an object with ${USAGE_MEMBERS}.`),
        ),
        cost: Type.Optional(
          expression('Of the same answer: what is charged, in USD, unless a later answer says otherwise.'),
        ),
      },
      { additionalProperties: false, description: 'The request that hands over the work.' },
    ),
    preflight: Type.Optional(
      Type.Object(
        {
          path: Path,
          refusal: expression(
            'Of its answer: `false`, and the input is submitted; or the reason why not, one of the closed list. ' +
              'Anything else counts as `model_unavailable`.',
          ),
        },
        {
          additionalProperties: false,
          description:
            'Fetched with GET before each submit, for a server that would ignore what it does not have: the voice of ' +
            'an input, for example.',
        },
      ),
    ),
    media: Type.Optional(
      Type.Record(
        Type.String({ pattern: MEDIA_FIELD }),
        Type.Unsafe<MediaMode>({ type: 'string', enum: [...MEDIA_MODES] }),
        {
          additionalProperties: false,
          maxProperties: 20,
          description:
            'How the files of a field are passed on: `url` as a URL that the provider fetches, which is the default; ' +
            '`inline` as a data URL; `upload` as the reference that an upload gives.',
        },
      ),
    ),
    upload: Type.Optional(Upload),
    jobId: Type.Optional(expression('Of the answer to a submit. Absent: that answer brings the outputs.')),
    poll: Type.Optional(
      Type.Object(
        {
          method: Type.Optional(
            Type.Unsafe<'GET' | 'POST'>({ type: 'string', enum: ['GET', 'POST'], description: 'Default: `GET`.' }),
          ),
          path: Path,
          body: Type.Optional(expression('Sent as JSON; default: nothing.')),
          state: expression('`running`, `done` or `failed`; anything else counts as no response, and is polled again.'),
          progress: Type.Optional(expression('0 to 1.')),
          retryAfter: Type.Optional(RetryAfter),
          everySeconds: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 600,
              description: 'The shortest interval between polls that the provider accepts.',
            }),
          ),
          failedStatuses: Type.Optional(Statuses),
        },
        {
          additionalProperties: false,
          description:
            'The request for the state of a job. 404 and 410 mean that it has failed, unless `failedStatuses` says otherwise.',
        },
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
    outputs: expression(
      'The files: URLs, paths below the base URL, `data:` URLs, `{"base64": …}` or `{"transcript": …}`, one or a ' +
        'list. `$body`: the response itself is the file, of `result` or of a submit without jobs.',
    ),
    usage: Type.Optional(
      expression(
        'Of the answer with the outputs, or of a failed job: what the work consumed, an object with numbers; its members are ' +
          `${USAGE_MEMBERS}.`,
      ),
    ),
    cost: Type.Optional(expression('Of the same answer: what the work costs, in USD.')),
    reason: Type.Optional(
      expression(
        'Of a failed job: one of the closed list. Default: `provider_error`. Without jobs, or of a job that is done: of ' +
          'an answer without outputs. Default: `no_output`.',
      ),
    ),
    hook: Type.Optional(HookSchema),
    unbilled: Type.Optional(
      expression('Of a failed job: `true` if the provider does not bill it. Anything else: it may.'),
    ),
    cancel: Type.Optional(
      Type.Object(
        {
          method: Type.Optional(
            Type.Unsafe<'POST' | 'PUT' | 'DELETE'>({
              type: 'string',
              enum: ['POST', 'PUT', 'DELETE'],
              description: 'Default: `POST`.',
            }),
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
        {
          additionalProperties: false,
          description: 'The request that cancels a job. Absent: a job cannot be cancelled.',
        },
      ),
    ),
  },
  { additionalProperties: false, description: 'Of protocol `http`: how the API is called.' },
);

export type HttpBinding = Static<typeof HttpBindingSchema>;
export type FormPartBinding = Static<typeof FormPart>;
export type UploadBinding = Static<typeof Upload>;

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
