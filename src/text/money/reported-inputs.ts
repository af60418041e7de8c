/**
 * Narrows the bound of a request's input with earlier reports of upstreams (docs/decisions/0022). The tokens that an
 * upstream reported for a request are an upper bound for each beginning of it, so that only the messages after the
 * longest known beginning are bounded by their bytes. A ratio of earlier reports would not work: the next text may be
 * in another script.
 *
 * Only hashes and counts are stored, by account, and only in this process: without them a hold is higher, nothing else.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { digestsOf } from '../digests.ts';
import type { TextRequest } from '../request.ts';
import { textUpstreamName } from '../../upstreams/upstream-caps.ts';
import { boundAddedTokens, boundInputTokens } from './input-bound.ts';

/** The maximum number of beginnings of inputs in memory, some 200 bytes each. */
const MAX_REMEMBERED = 20_000;
/** The maximum number of upstreams that are remembered as no longer trusted. */
const MAX_DISTRUSTED = 1_000;
/**
 * How many more tokens the same beginning may count the next time, because of a date in the template or tokens across
 * its end.
 */
const DRIFT = 64;
/**
 * A report below this part of our own count is not remembered. No vocabulary is so much better than OpenAI's; some
 * servers omit cached tokens from a report.
 */
const LEAST_OF_COUNTED = 0.75;

/** A request for which a hold is about to be taken. */
export interface BoundedCall {
  readonly accountId: string;
  readonly model: TextModelDefinition;
  readonly request: TextRequest;
  /** The body as it was sent, because parameters beyond OpenAI's can affect the prompt. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Our own count. */
  readonly countedTokens: number;
}

export interface InputBound {
  /** The most that can be reported for the request's input. */
  readonly tokens: number;
  /** The same without earlier reports. */
  readonly withoutReports: number;
  /** @param upstream the one that reported this many tokens of input, by its name in logs. */
  reported(inputTokens: number, upstream: string): void;
}

export interface ReportedInputs {
  bound(call: BoundedCall): Promise<InputBound>;
}

export function createReportedInputs(): ReportedInputs {
  /** Tokens by beginning and upstream. */
  const seen = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  const distrusted = new LRUCache<string, true>({ max: MAX_DISTRUSTED });

  /** The most that any of a model's upstreams counts for a beginning; undefined: one of them has not reported. */
  const knownOf = (digest: string, upstreams: readonly string[]): number | undefined => {
    let most = 0;
    for (const upstream of upstreams) {
      const tokens = distrusted.has(upstream) ? undefined : seen.get(`${digest} ${upstream}`);
      if (tokens === undefined) return undefined;
      most = Math.max(most, tokens);
    }
    return most;
  };

  return {
    async bound(call) {
      const { model, request, body, countedTokens } = call;
      const whole = await boundInputTokens(request, body, model, countedTokens);
      if (!canBeNarrowed(call)) return { tokens: whole, withoutReports: whole, reported: () => undefined };
      const upstreams = [...new Set(model.upstreams.map(textUpstreamName))];
      const digests = await digestsOf(ownerOf(call), request);

      let tokens = whole;
      for (let messages = request.messages.length; messages > 0; messages--) {
        const known = knownOf(digests[messages] ?? '', upstreams);
        if (known === undefined) continue;
        const added = await boundAddedTokens(request.messages.slice(messages), model);
        tokens = Math.min(whole, known + DRIFT + added);
        break;
      }
      return {
        tokens,
        withoutReports: whole,
        reported(inputTokens, upstream) {
          // The earlier report for the same beginning was incomplete.
          if (inputTokens > tokens && tokens < whole) distrusted.set(upstream, true);
          if (inputTokens < countedTokens * LEAST_OF_COUNTED || inputTokens > whole) return;
          const remember = (messages: number, better: (a: number, b: number) => number): void => {
            const key = `${digests[messages] ?? ''} ${upstream}`;
            seen.set(key, better(inputTokens, seen.get(key) ?? inputTokens));
          };
          remember(request.messages.length, Math.max);
          // Every report of a request that begins with the instructions is a bound for them.
          const instructions = request.messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
          if (instructions > 0) remember(instructions, Math.min);
        },
      };
    },
  };
}

/** A URL may return another image the next time. With a tokenizer there is little to narrow. */
function canBeNarrowed({ model: { upstreams, inputTokens }, request: { messages } }: BoundedCall): boolean {
  if (inputTokens?.tokenizer !== undefined) return false;
  if (upstreams.every(({ protocol }) => protocol === 'embedded')) return false;
  return !messages.some(({ content }) =>
    content.some((part) => part.type === 'image' && !part.url.startsWith('data:')),
  );
}

/**
 * Everything that a prompt can depend on besides messages and tools, and its owner: a hold must not reveal others'
 * prompts.
 */
function ownerOf({ accountId, model, request, body }: BoundedCall): string {
  const { format, toolChoice, parallelToolCalls, reasoningEffort, verbosity } = request;
  const extra = (model.extraParameters ?? []).map((name) => [name, body[name]]);
  const parts = [
    accountId,
    modelDigest(model),
    format,
    toolChoice,
    parallelToolCalls,
    reasoningEffort,
    verbosity,
    extra,
  ];
  return JSON.stringify(parts);
}

/** Computed once for each model that is loaded: its file can change the prompt. */
const MODEL_DIGESTS = new WeakMap<TextModelDefinition, string>();

function modelDigest(model: TextModelDefinition): string {
  const known = MODEL_DIGESTS.get(model);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(JSON.stringify(model)).digest('base64');
  MODEL_DIGESTS.set(model, digest);
  return digest;
}
