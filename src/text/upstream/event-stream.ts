/**
 * From an upstream's bytes to its server-sent events (WHATWG HTML §9.2.6), however they were cut on the way. Tolerant
 * of a last event without a terminator, which some servers send. Comments, ids and reconnection times are dropped.
 */
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import type { EventSourceParser } from 'eventsource-parser';
import { UpstreamFailure } from './upstream-failure.ts';

/**
 * Characters. The whole answer of an image tool fits in; a server that never ends an event does not fill our memory.
 */
const MAX_EVENT = 4 * 1024 * 1024;
/** The overhead of a line, counted as characters, because a line may be empty. */
const LINE_OVERHEAD = 64;

/** Takes one event. @param name of `event:`; undefined if there is none. @param data its lines, joined by `\n`. */
export type TakeEvent = (name: string | undefined, data: string) => void;

/** Interprets an upstream's stream: it receives the events as they come, and emits what the client gets of them. */
export interface StreamReader<T> {
  /**
   * Processes one event.
   *
   * @param name of its `event:` line, if it has one.
   * @param emit takes a piece of the answer.
   * @throws {TextFailure} it is not an event of the protocol, or reports a failure.
   */
  read(name: string | undefined, data: string, emit: (piece: T) => void): void;
  /**
   * The connection has ended, in order or not.
   *
   * @throws {TextFailure} the answer is not complete.
   */
  end(emit: (piece: T) => void): void;
  /** The last event was received: what comes after it is ignored. */
  readonly isOver: boolean;
}

export class EventSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser: EventSourceParser;
  #isFirst = true;
  /** What came since the last event, without comments, which keep a silent connection open. */
  #length = 0;

  constructor(take: TakeEvent) {
    this.#parser = createParser({
      onEvent: ({ event, data }) => {
        this.#length = 0;
        take(event, data);
      },
      onComment: (comment) => {
        this.#length = Math.max(0, this.#length - sizeOf(`: ${comment}\n`));
      },
    });
  }

  /** @throws {UpstreamFailure} `upstream_invalid`: an event is too large; and every error of the callback. */
  push(bytes: Buffer): void {
    this.#feed(this.#decoder.write(bytes));
  }

  /** The bytes are over. What remains is an event too. @throws as `push`. */
  end(): void {
    this.#feed(`${this.#decoder.end()}\n\n`);
  }

  #feed(text: string): void {
    if (text === '') return;
    const isMarked = this.#isFirst && text.startsWith('\uFEFF');
    this.#isFirst = false;
    this.#length += sizeOf(text);
    this.#parser.feed(isMarked ? text.slice(1) : text);
    if (this.#length <= MAX_EVENT) return;
    throw new UpstreamFailure('upstream_invalid', `an event of more than ${MAX_EVENT} characters`);
  }
}

function sizeOf(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return text.length + lines * LINE_OVERHEAD;
}
