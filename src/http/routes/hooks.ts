/**
 * `POST /hooks/{upstream}/{token}`: where providers call back (contract, "Conventions"). No key, and nothing in the
 * request is trusted: it only makes us poll the provider a little earlier than we would have. A model file may declare
 * that a provider signs its calls, or that it first asks whether the address is ours (src/providers/hooks/).
 */
import { Type } from 'typebox';
import { upstreamsOf } from '../../catalogue/definition.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Challenge, HookRules } from '../../providers/hooks/hook-rules.ts';
import type { HookFault, HookVerification } from '../../providers/hooks/verify-hook.ts';
import { valueAt } from '../../providers/json-answer.ts';
import { UPSTREAM_PROTOCOLS } from '../../providers/protocols.ts';
import { createHookUrls, findCalledTask, recordProviderHook } from '../../upstreams/provider-hooks.ts';
import { upstreamName } from '../../upstreams/upstream-caps.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, invalidRequest, notFound } from '../app/errors.ts';
import { SMALL_BODY_BYTES, readBody } from '../bodies/json-body.ts';
import { parseBody } from '../bodies/parse-body.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

/** A larger body is no challenge. */
const MAX_CHALLENGE_BYTES = 16_384;
/** What is returned to whoever knows the address: a number or a line of visible characters. */
const CHALLENGE_VALUE = /^[\x20-\x7e]{1,1024}$/;

const ReceivedSchema = Type.Object({ received: Type.Literal(true) }, { additionalProperties: false });
const ChallengeAnswerSchema = Type.Record(Type.String(), Type.Union([Type.String(), Type.Integer()]), {
  minProperties: 1,
  maxProperties: 1,
});

export function hookRoutes(http: HttpContext): readonly Route[] {
  const { publicUrl } = http.urlSigner;
  const hookUrls = createHookUrls({ publicUrl, ...http.config.urls });

  const reject = (taskId: TaskId, upstream: string, reason: HookFault): RequestError => {
    http.metrics.hooks.called(upstream, 'rejected');
    http.logger.warn({ taskId, upstream, reason }, 'webhook of a provider rejected');
    return new RequestError('unauthenticated', 'the webhook is not signed as this address requires');
  };

  return [
    defineRoute({
      method: 'POST',
      path: '/hooks/{upstream}/{token}',
      operationId: 'receiveProviderHook',
      tag: 'Service',
      summary: 'Receive a provider webhook',
      description:
        'Called by upstream providers when the state of a job has changed. Accepts any body of at most 256 kB. Early, late and repeated calls are harmless.',
      access: 'none',
      params: {
        upstream: 'The provider that sends the webhook.',
        token: 'The token that this service issued to the provider for one task.',
      },
      response: { kind: 'json', schema: ReceivedSchema },
      otherResponses: {
        200: {
          description: 'To a challenge, where the model file declares one: its value.',
          schema: Type.Union([ReceivedSchema, ChallengeAnswerSchema]),
        },
      },
      errors: [
        'INVALID_REQUEST',
        'UNAUTHORIZED',
        'NOT_FOUND',
        'PAYLOAD_TOO_LARGE',
        'RATE_LIMITED',
        'SERVICE_UNAVAILABLE',
      ],
      async handle({ ctx, params }) {
        const { upstream = '', token = '' } = params;
        const taskId = hookUrls.taskOf(upstream, token);
        if (taskId === undefined) throw notFound();
        const { verify, challenge } = (await findRules(http, taskId, upstream)) ?? {};
        const verification =
          verify === undefined
            ? undefined
            : http.hookVerifier.begin(verify, {
                headers: ctx.req.headers,
                nowMs: http.now(),
                derivedSecrets: () => hookUrls.secretsOf(upstream, taskId),
              });
        if (typeof verification === 'string') throw reject(taskId, upstream, verification);

        const start = await readHook(http, ctx.req, verification);
        const fault = await verification?.finish();
        if (fault !== undefined) throw reject(taskId, upstream, fault);
        const answer = challenge === undefined ? undefined : answerTo(challenge, start);
        http.metrics.hooks.called(upstream, answer === undefined ? 'hint' : 'challenge');
        if (answer !== undefined) return answer;
        await recordProviderHook(http.database, taskId, upstream);
        return { received: true };
      },
    }),
  ];
}

/** How the upstream of a task calls back, by the definition that the task was accepted under. */
async function findRules(
  { database, definitions }: HttpContext,
  taskId: TaskId,
  calledUpstream: string,
): Promise<HookRules | undefined> {
  const task = await findCalledTask(database, taskId);
  if (task === undefined) return undefined;
  const upstreams = upstreamsOf(await definitions.read(task.definitionHash), task.route);
  const upstream = upstreams.find((each) => upstreamName(each) === calledUpstream);
  if (upstream === undefined) return undefined;
  return UPSTREAM_PROTOCOLS.find(({ name }) => name === upstream.protocol)?.hookOf?.(upstream);
}

/** @returns the body, if it is small enough for a challenge. */
async function readHook(
  { bodies }: HttpContext,
  request: Parameters<typeof readBody>[0],
  verification: HookVerification | undefined,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let byteLength = 0;
  await readBody(request, SMALL_BODY_BYTES, bodies.ofAddress(request), (piece) => {
    verification?.update(piece);
    byteLength += piece.length;
    if (byteLength <= MAX_CHALLENGE_BYTES) pieces.push(piece);
    else pieces.length = 0;
  });
  return Buffer.concat(pieces);
}

/** @returns undefined: it is no challenge. @throws {RequestError} 400: it has a value that we do not return. */
function answerTo({ member, answer = member }: Challenge, body: Buffer): Readonly<Record<string, unknown>> | undefined {
  const parsed = parseBody(body);
  const value = parsed.kind === 'parsed' ? valueAt(parsed.value, member) : undefined;
  if (value === undefined || value === null) return undefined;
  const isPlain = typeof value === 'string' ? CHALLENGE_VALUE.test(value) : Number.isSafeInteger(value);
  if (!isPlain) throw invalidRequest('invalid request: the challenge is not an integer or a short line of text');
  return { [answer]: value };
}
