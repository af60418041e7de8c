/**
 * Predictions of Replicate: created, polled, cancelled. Source: Replicate's HTTP reference, "Prediction lifecycle" and
 * "Rate limits". There is no idempotency key, so a create whose response was lost is never repeated.
 *
 * An upstream's model is `owner/name`, `owner/name:version` or a bare version id; the first has a path of its own. Its
 * `rename` says what the model calls the fields of the input.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { FailureReason } from '../../domain/failure-reason.ts';
import type { Consumption } from '../../domain/provider-usage.ts';
import { consumptionOf } from '../consumption.ts';
import { SecretName } from '../hooks/hook-rules.ts';
import { jobIdAt, textAt, valueAt } from '../json-answer.ts';
import { filesIn } from '../output-files.ts';
import type { UpstreamProtocol } from '../protocols.ts';
import { ProviderFailure, ProviderUnreachable } from '../provider.ts';
import type { Provider, UpstreamBinding } from '../provider.ts';
import { assertRunningAnswerFits, createUpstreamCalls } from '../upstream-calls.ts';
import type { HttpProviderDeps } from '../upstream-calls.ts';

const OFFICIAL_MODEL = /^([\w.-]+)\/([\w.-]+)$/;
/** Content rejections have no code of their own except this one, and the sentence of older models. */
const CONTENT_WORDS = /\bE005\b|flagged as sensitive|\bNSFW\b/i;

const FIELD_NAME = '^[A-Za-z_][A-Za-z0-9_]{0,63}$';

/** What Replicate's models call the fields of an input: each has names of its own, and ours are the same everywhere. */
export const RenameSchema = Type.Record(
  Type.String({ pattern: FIELD_NAME }),
  Type.String({ pattern: FIELD_NAME, description: "The model's name for a field of the input." }),
  {
    maxProperties: 100,
    additionalProperties: false,
    description: 'Of `replicate`: what the model calls fields of the input. Others keep their names.',
  },
);

type Rename = Static<typeof RenameSchema>;

/** The adapter of protocol `replicate`. */
export function createReplicateProvider(deps: HttpProviderDeps): Provider {
  const calls = createUpstreamCalls('replicate', deps);
  return {
    protocol: 'replicate',
    isSubmitRepeatable: false,
    worksWhileSubmitting: false,
    callsBack: true,
    download: calls.download,

    submit(request, call) {
      const { upstream } = request;
      const input = { ...renamed(request.input, upstream), ...upstream.parameters };
      const [, owner, name] = OFFICIAL_MODEL.exec(upstream.model) ?? [];
      return calls.submitJob(request, call, {
        path: owner === undefined ? '/predictions' : `/models/${owner}/${name}/predictions`,
        body: { ...(owner === undefined ? { version: upstream.model } : {}), input, ...webhook(call.hookUrl) },
        rejectionReason,
        jobId: (answer) => jobIdAt(answer, 'id'),
      });
    },

    async poll(request, jobId, call) {
      const answer = await calls.query(request, call, {
        method: 'GET',
        path: `/predictions/${encodeURIComponent(jobId)}`,
        bringsFiles: true,
        definiteStatuses: [404, 410],
      });
      if (answer.status >= 400) throw new ProviderFailure('provider_error');
      const { json, retryAfterMs } = answer;
      switch (textAt(json, 'status')) {
        case 'succeeded': {
          const files = filesIn(valueAt(json, 'output'));
          if (files.length === 0) throw new ProviderFailure('no_output', { consumption: secondsOf(json) });
          return { kind: 'done', files, ...secondsOf(json) };
        }
        case 'failed':
          throw new ProviderFailure(failureReason(textAt(json, 'error')), { consumption: secondsOf(json) });
        // "canceled" and "aborted" also result from a deadline of the provider.
        case 'canceled':
        case 'aborted':
          throw new ProviderFailure('provider_error');
        case undefined:
          throw new ProviderUnreachable({ status: answer.status, code: 'NO_STATE' }, { retryAfterMs });
        default:
          assertRunningAnswerFits(answer);
          return { kind: 'running', ...(retryAfterMs === undefined ? {} : { pollAfterMs: retryAfterMs }) };
      }
    },

    async cancel(request, jobId, call) {
      const answer = await calls.query(request, call, {
        method: 'POST',
        path: `/predictions/${encodeURIComponent(jobId)}/cancel`,
        definiteStatuses: [400, 404, 409, 410, 422],
      });
      const state = textAt(answer.json, 'status');
      const isTooLate = answer.status >= 400 || state === 'succeeded' || state === 'failed';
      return { outcome: isTooLate ? 'too_late' : 'cancelled' };
    },
  };
}

/** "metrics.predict_time": the seconds that the prediction ran, which is what is billed. */
function secondsOf(json: unknown): Consumption {
  return consumptionOf({ usage: { seconds: valueAt(json, 'metrics', 'predict_time') } });
}

/** "webhook" and "webhook_events_filter" of a prediction: one call, when it is over. */
function webhook(url: string | undefined): Readonly<Record<string, unknown>> {
  return url === undefined ? {} : { webhook: url, webhook_events_filter: ['completed'] };
}

function failureReason(error: string | undefined): FailureReason {
  return error !== undefined && CONTENT_WORDS.test(error) ? 'content_rejected' : 'provider_error';
}

function rejectionReason(status: number, json: unknown): FailureReason | undefined {
  if (status !== 422 && status !== 400) return undefined;
  const title = textAt(json, 'title') ?? '';
  const detail = textAt(json, 'detail') ?? '';
  if (CONTENT_WORDS.test(`${title} ${detail}`)) return 'content_rejected';
  // 422 is also the response for a version that does not exist or that we may not run.
  return /invalid version|not permitted/i.test(title) ? 'model_unavailable' : undefined;
}

/** The input with the names of an upstream's model. A field that is not named keeps its own. */
function renamed(
  input: Readonly<Record<string, unknown>>,
  upstream: UpstreamBinding,
): Readonly<Record<string, unknown>> {
  const names = new Map(Object.entries(renameOf(upstream)));
  return Object.fromEntries(Object.entries(input).map(([field, value]) => [names.get(field) ?? field, value]));
}

function renameOf(upstream: UpstreamBinding): Rename {
  return hasRename(upstream) ? upstream.rename : {};
}

/** Its form was validated when the model file was read. */
function hasRename(upstream: UpstreamBinding): upstream is UpstreamBinding & { readonly rename: Rename } {
  return 'rename' in upstream;
}

/** An upstream whose calls are verified: Replicate signs them as Standard Webhooks describe. */
interface SigningUpstream extends UpstreamBinding {
  readonly webhookSecret: string;
}

export const replicateProtocol: UpstreamProtocol = {
  name: 'replicate',
  fields: {
    rename: RenameSchema,
    webhookSecret: SecretName(
      "Of `replicate`: the name of the credential with which the account's webhooks are signed.",
    ),
  },
  hookOf: (upstream) =>
    isSigning(upstream) ? { verify: { scheme: 'standard-webhooks', secret: upstream.webhookSecret } } : undefined,
  create: createReplicateProvider,
};

function isSigning(upstream: UpstreamBinding): upstream is SigningUpstream {
  return 'webhookSecret' in upstream;
}
