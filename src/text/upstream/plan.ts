/**
 * How a call is sent to an upstream: with which of its interfaces, with which body, and how the answer is read. A
 * client of chat completions is answered through the same interface; one of responses too, if the upstream has it and
 * the answer can pass unread, and otherwise through chat completions, always streamed, so that there is one decoder and
 * silence is noticed.
 */
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import type { TextEvent, OpenedAnswer, TextCall, TextSurface } from '../source.ts';
import { chatBody, ChatFrames } from './chat-answer.ts';
import { ChatEvents } from './decode-chat-stream.ts';
import { encodeChatRequest, encodeResponsesRequest } from './encode-request.ts';
import type { StreamReader } from './event-stream.ts';
import { responsesBody, ResponsesFrames } from './responses-answer.ts';

interface Sent {
  readonly interfaceUsed: TextSurface;
  /** Below the base URL. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer that comes in pieces. */
export interface StreamPlan<T> extends Sent {
  readonly kind: 'stream';
  readonly reader: StreamReader<T>;
  sizeOf(piece: T): number;
  /** What the caller gets once the first piece is there. */
  opened(pieces: AsyncIterable<T>): OpenedAnswer;
}

/** An answer that comes as a whole. */
export interface WholePlan extends Sent {
  readonly kind: 'whole';
  /** @throws {TextFailure} it is not an answer. */
  read(json: unknown): OpenedAnswer;
}

export type Plan = StreamPlan<unknown> | WholePlan;

/** @param now milliseconds since 1970. */
export function planOf(call: TextCall, upstream: TextUpstream, now: () => number): Plan {
  if (call.surface === 'chat') return chatPlan(call, upstream);
  return upstream.apis?.includes('responses') === true && call.isReadHere !== true
    ? responsesPlan(call, upstream, now)
    : translatedPlan(call, upstream);
}

function chatPlan(call: TextCall, upstream: TextUpstream): StreamPlan<string> | WholePlan {
  const sent = {
    interfaceUsed: 'chat',
    path: '/chat/completions',
    body: encodeChatRequest(call, upstream, call.isStreamed),
  } as const;
  if (!call.isStreamed)
    return { ...sent, kind: 'whole', read: (json) => ({ kind: 'body', body: chatBody(json, call) }) };
  return {
    ...sent,
    kind: 'stream',
    reader: new ChatFrames(call),
    sizeOf: (frame) => frame.length,
    opened: (frames) => ({ kind: 'frames', frames }),
  };
}

function responsesPlan(call: TextCall, upstream: TextUpstream, now: () => number): StreamPlan<string> | WholePlan {
  const sent = {
    interfaceUsed: 'responses',
    path: '/responses',
    body: encodeResponsesRequest(call, upstream),
  } as const;
  if (!call.isStreamed) {
    return { ...sent, kind: 'whole', read: (json) => ({ kind: 'body', body: responsesBody(json, call, now) }) };
  }
  const reader = new ResponsesFrames(call, now);
  return {
    ...sent,
    kind: 'stream',
    reader,
    sizeOf: (frame) => frame.length,
    opened: (frames) => ({
      kind: 'frames',
      frames,
      whole: () => reader.whole(),
      fail: (problem) => reader.fail(problem),
    }),
  };
}

function translatedPlan(call: TextCall, upstream: TextUpstream): StreamPlan<TextEvent> {
  return {
    interfaceUsed: 'chat',
    path: '/chat/completions',
    body: encodeChatRequest(call, upstream, true),
    kind: 'stream',
    reader: new ChatEvents(call.request.choices),
    sizeOf: sizeOfEvent,
    opened: (events) => ({ kind: 'events', events }),
  };
}

/** The overhead of an event object, in addition to its text. */
const EVENT_SIZE = 100;

function sizeOfEvent(event: TextEvent): number {
  return EVENT_SIZE + ('text' in event ? event.text.length : 0);
}
