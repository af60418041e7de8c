/** What the tests of the encoder share: the start of an answer, a reader of its stream, and short names for events. */
import assert from 'node:assert/strict';
import type { FinishReason, TextEvent, TokenLogprob } from '../../../src/text/source.ts';
import { checkResponsesBody, decodeResponsesRequest } from '../../../src/text/responses/decode-request.ts';
import type { EarlierItems } from '../../../src/text/responses/decode-input.ts';
import type { DecodedResponsesRequest } from '../../../src/text/responses/decode-request.ts';
import type { DeltaRecorder } from '../../../src/text/responses/replay.ts';
import { createResponseEncoder } from '../../../src/text/responses/encode-answer.ts';
import type { BilledUsage } from '../../../src/text/tally.ts';
import type { AnswerEncoder, TextProblem } from '../../../src/text/encoder.ts';

export const NOTHING_EARLIER: EarlierItems = { conversation: [], referenced: new Map() };

/** A body as the endpoint processes it: validated, then decoded. */
export function decode(
  body: Readonly<Record<string, unknown>>,
  earlier: EarlierItems = NOTHING_EARLIER,
  extraParameters: string[] = [],
): DecodedResponsesRequest {
  return decodeResponsesRequest(checkResponsesBody(body), { extraParameters, features: ['images'] }, earlier);
}

export const CREATED_AT = 1_763_700_000;
const ENDED_AT = CREATED_AT + 7;

/** An encoder for the response to a request with these parameters. */
export function encoderFor(
  parameters: Readonly<Record<string, unknown>> = {},
  id = 'resp_01TEST',
  deltas?: DeltaRecorder,
): AnswerEncoder {
  const { rendering } = decode({ model: 'some-model', input: 'Hello', ...parameters });
  return createResponseEncoder({
    ...rendering,
    id,
    createdAt: CREATED_AT,
    model: 'some-model',
    deltas,
    now: () => ENDED_AT * 1000 + 321,
  });
}

export const USAGE: BilledUsage = {
  inputTokens: 11,
  cachedInputTokens: 3,
  outputTokens: 20,
  reasoningTokens: 5,
  isEstimated: false,
};

export const PROBLEM: TextProblem = {
  status: 503,
  errorCode: 'SERVICE_UNAVAILABLE',
  message: 'the model broke off',
  type: 'server_error',
  code: 'upstream_unavailable',
  param: null,
};

export const text = (value: string, logprobs?: readonly TokenLogprob[]): TextEvent => ({
  type: 'text',
  choice: 0,
  text: value,
  ...(logprobs === undefined ? {} : { logprobs }),
});
export const reasoning = (value: string): TextEvent => ({ type: 'reasoning', choice: 0, text: value });
export const refusal = (value: string): TextEvent => ({ type: 'refusal', choice: 0, text: value });
export const call = (index: number, name: string): TextEvent => ({
  type: 'tool_call',
  choice: 0,
  index,
  id: `call_${index}`,
  name,
});
export const args = (index: number, value: string): TextEvent => ({
  type: 'tool_arguments',
  choice: 0,
  index,
  text: value,
});
export const finish = (reason: FinishReason): TextEvent => ({ type: 'finish', choice: 0, reason });

export type StreamEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** All frames of an answer, and its final object. */
export function answerOf(
  events: readonly TextEvent[],
  parameters: Readonly<Record<string, unknown>> = {},
  {
    problem,
    id,
    deltas,
  }: { readonly problem?: TextProblem; readonly id?: string; readonly deltas?: DeltaRecorder } = {},
): { readonly frames: readonly string[]; readonly events: readonly StreamEvent[]; readonly answer: StreamAnswer } {
  const encoder = encoderFor(parameters, id, deltas);
  const frames = [...encoder.begin()];
  for (const event of events) frames.push(...encoder.next(event));
  frames.push(...(problem === undefined ? encoder.end(USAGE) : encoder.fail(problem)));
  return { frames, events: frames.map(parseFrame), answer: encoder.answer() as unknown as StreamAnswer };
}

export interface StreamAnswer extends Readonly<Record<string, unknown>> {
  readonly status: string;
  readonly output: readonly (Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string })[];
}

function parseFrame(frame: string): StreamEvent {
  const match = /^event: ([a-z_.]+)\ndata: (.+)\n\n$/.exec(frame);
  assert.ok(match?.[1] !== undefined && match[2] !== undefined, `not one whole event: ${frame}`);
  const event = JSON.parse(match[2]) as StreamEvent;
  assert.equal(event.type, match[1], 'the event line names the type');
  return event;
}

/** The types of events, abbreviated, without `response.`. */
export function typesOf(events: readonly StreamEvent[]): readonly string[] {
  return events.map(({ type }) => type.replace(/^response\./, ''));
}

interface PartState {
  readonly key: string;
  text: string;
  isComplete: boolean;
}

/**
 * Reads a stream as strictly as the strictest client: numbers rise by one, items and parts never overlap, every delta
 * belongs to an open item, and a finished item equals the sum of its deltas.
 *
 * @returns the items that were finished, and the one that never was.
 */
export function readStrictly(events: readonly StreamEvent[]): {
  readonly done: readonly unknown[];
  readonly open: unknown;
} {
  const done: unknown[] = [];
  let item: Record<string, unknown> | undefined;
  let part: PartState | undefined;
  events.forEach((event, number) => {
    assert.equal(event['sequence_number'], number);
    const type = event.type.replace(/^response\./, '');
    if (type === 'output_item.added') {
      assert.equal(item, undefined, 'an item is done before the next is added');
      assert.equal(event['output_index'], done.length);
      item = event['item'] as Record<string, unknown>;
      assert.equal(item['status'], 'in_progress');
      if (item['type'] === 'function_call') part = { key: 'arguments', text: '', isComplete: false };
      return;
    }
    if (event['output_index'] === undefined) return;
    assert.ok(item !== undefined, `${type} without an item`);
    assert.equal(event['output_index'], done.length);
    if (type === 'output_item.done') {
      assert.ok(
        part === undefined || (item['type'] === 'function_call' && part.isComplete),
        'parts are done before items',
      );
      const whole = event['item'] as Record<string, unknown>;
      assert.equal(whole['id'], item['id']);
      if (part !== undefined) assert.equal(whole['arguments'], part.text);
      part = undefined;
      item = undefined;
      done.push(whole);
      return;
    }
    assert.equal(event['item_id'], item['id']);
    if (type.endsWith('part.added')) {
      assert.equal(part, undefined, 'parts never overlap');
      part = { key: '', text: '', isComplete: false };
      return;
    }
    assert.ok(part !== undefined, `${type} without a part`);
    if (type.endsWith('.delta')) {
      assert.equal(part.isComplete, false);
      assert.ok(typeof event['delta'] === 'string');
      part.text += event['delta'];
      return;
    }
    if (type.endsWith('part.done')) {
      assert.equal(part.isComplete, true, 'a text is done before its part');
      const whole = event['part'] as Record<string, unknown>;
      assert.equal(whole['text'] ?? whole['refusal'], part.text);
      part = undefined;
      return;
    }
    assert.equal(part.isComplete, false);
    assert.equal(event['text'] ?? event['refusal'] ?? event['arguments'], part.text);
    part.isComplete = true;
  });
  return { done, open: item };
}
