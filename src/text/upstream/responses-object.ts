/**
 * A response object of an upstream as ours: its content and how it ended are copied, what it repeats of the request is
 * what the client sent, and its name, its model, its times and its usage are ours.
 */
import type { TextProblem } from '../encoder.ts';
import { responseError } from '../responses/failure.ts';
import { completionTime, responseObject } from '../responses/response-object.ts';
import type { ResponseState } from '../responses/response-object.ts';
import type { TextCall } from '../source.ts';
import { assertNoError, isObject } from './chat-choice.ts';
import type { Members } from './chat-choice.ts';
import { invalidAnswer } from './upstream-failure.ts';
import { responsesUsage } from './usage.ts';

export type OwnStatus = 'in_progress' | 'completed' | 'incomplete';

/**
 * Reads an upstream's response, and its usage if it is reported.
 *
 * @param call with its `echo`. @param now milliseconds since 1970.
 * @throws {UpstreamFailure} `upstream_invalid`: it is not a response, or has failed.
 */
export function ownResponse(json: unknown, call: TextCall, status: OwnStatus, now: () => number): Members {
  if (!isObject(json)) throw invalidAnswer('a response that is no object');
  assertNoError(json['error']);
  const output = json['output'] ?? [];
  if (!Array.isArray(output) || !output.every(isObject)) throw invalidAnswer('a response whose output is no list');
  const usage = responsesUsage(json['usage']);
  if (usage !== undefined) call.tally.report(usage);
  return objectOf(call, output, {
    status,
    completedAt: status === 'completed' ? completionTime(call.createdAt, now) : null,
    incompleteReason: status === 'incomplete' ? incompleteReason(json['incomplete_details']) : null,
    error: null,
    usage: status === 'in_progress' ? null : call.tally.usage(),
  });
}

/**
 * A response that broke off.
 *
 * @param call with its `echo`. @param output what was generated until then.
 */
export function failedResponse(call: TextCall, output: readonly Members[], problem: TextProblem): Members {
  return objectOf(call, output, {
    status: 'failed',
    completedAt: null,
    incompleteReason: null,
    error: responseError(problem),
    usage: null,
  });
}

function objectOf(call: TextCall, output: readonly Members[], state: Omit<ResponseState, 'output'>): Members {
  const { id, createdAt, model, echo } = call;
  if (echo === undefined) throw new Error('a call of the Responses API has no `echo`');
  const head = { id, createdAt, model: model.name, echo };
  return responseObject(head, { ...state, output });
}

function incompleteReason(details: unknown): 'max_output_tokens' | 'content_filter' {
  const isFiltered = isObject(details) && details['reason'] === 'content_filter';
  return isFiltered ? 'content_filter' : 'max_output_tokens';
}

/** Counts the content of an output's items, for upstreams that report no usage. */
export function tallyOutput(output: readonly Members[], { tally }: TextCall): void {
  for (const item of output) {
    const isReasoning = item['type'] === 'reasoning';
    for (const value of textsIn(item)) {
      if (isReasoning) tally.addReasoning(value);
      else tally.addOutput(value);
    }
  }
}

function* textsIn(item: Members): Generator<string> {
  for (const name of ['name', 'arguments']) {
    const value = item[name];
    if (item['type'] === 'function_call' && typeof value === 'string') yield value;
  }
  for (const name of ['content', 'summary']) {
    const parts = item[name];
    if (!Array.isArray(parts)) continue;
    for (const part of parts.filter(isObject)) {
      const value = part['text'] ?? part['refusal'];
      if (typeof value === 'string') yield value;
    }
  }
}
