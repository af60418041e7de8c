/** A whole response on its way from an upstream to a client of the same interface. */
import type { TextCall } from '../source.ts';
import { assertNoError, isObject } from './chat-choice.ts';
import type { Members } from './chat-choice.ts';
import { ownResponse, tallyOutput } from './responses-object.ts';
import { invalidAnswer } from './upstream-failure.ts';

/**
 * @param json as the upstream sent it. @param now milliseconds since 1970.
 * @throws {UpstreamFailure} `upstream_invalid`.
 */
export function responsesBody(json: unknown, call: TextCall, now: () => number): Members {
  if (!isObject(json)) throw invalidAnswer('an answer that is no object');
  assertNoError(json['error']);
  const { output } = json;
  if (!Array.isArray(output) || !output.every(isObject)) throw invalidAnswer('a response without an output');
  const { status } = json;
  if (status !== 'completed' && status !== 'incomplete') throw invalidAnswer('a response that is not finished');
  tallyOutput(output, call);
  return ownResponse(json, call, status, now);
}
