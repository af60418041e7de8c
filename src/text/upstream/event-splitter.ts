/**
 * From an upstream's bytes to its server-sent events (WHATWG HTML §9.2.6), however they were cut on the way. Tolerant
 * where servers differ: any of the three line ends, a blank after the colon or none, a last event without a
 * terminator. Comments, ids and reconnection times are dropped.
 */
import { StringDecoder } from 'node:string_decoder';
import { CollectedText } from '../../domain/collected-text.ts';
import { UpstreamFailure } from './upstream-failure.ts';

/**
 * Characters. The whole answer of an image tool fits in; a server that never ends an event does not fill our memory.
 */
const MAX_EVENT = 4 * 1024 * 1024;
/** What a line takes in addition to its characters, counted as characters: it may have one. */
const LINE_OVERHEAD = 64;

/** Takes one event. @param name of `event:`; undefined if there is none. @param data its lines, joined by `\n`. */
export type TakeEvent = (name: string | undefined, data: string) => void;

export class EventSplitter {
  readonly #take: TakeEvent;
  readonly #decoder = new StringDecoder('utf8');
  /** The line that has begun. */
  readonly #line = new CollectedText();
  #name: string | undefined;
  #data: string | undefined;
  #dataLines = 0;
  #isFirst = true;
  /** The last character was a carriage return: a line feed that comes next belongs to it. */
  #isAfterReturn = false;

  constructor(take: TakeEvent) {
    this.#take = take;
  }

  /** @throws {UpstreamFailure} `upstream_invalid`: an event is too large; and every error of the callback. */
  push(bytes: Buffer): void {
    this.#split(this.#decoder.write(bytes));
  }

  /** The bytes are over. What remains is an event too. @throws as `push`. */
  end(): void {
    this.#split(this.#decoder.end());
    if (this.#line.length > 0) this.#endLine('');
    this.#endEvent();
  }

  #split(text: string): void {
    if (text === '') return;
    let at = 0;
    if (this.#isFirst) {
      this.#isFirst = false;
      if (text.startsWith('\uFEFF')) at = 1;
    }
    if (this.#isAfterReturn) {
      this.#isAfterReturn = false;
      if (text.startsWith('\n')) at = 1;
    }
    let nextReturn = text.indexOf('\r', at);
    for (;;) {
      const nextFeed = text.indexOf('\n', at);
      const isReturn = nextReturn !== -1 && (nextFeed === -1 || nextReturn < nextFeed);
      const end = isReturn ? nextReturn : nextFeed;
      if (end === -1) break;
      this.#endLine(text.slice(at, end));
      at = end + 1;
      if (!isReturn) continue;
      if (at === text.length) this.#isAfterReturn = true;
      else if (text.charCodeAt(at) === 10) at += 1;
      nextReturn = text.indexOf('\r', at);
    }
    if (at >= text.length) return;
    this.#line.push(text.slice(at));
    this.#bound(this.#line.length);
  }

  /** @param rest of the line, after what has already arrived. */
  #endLine(rest: string): void {
    const line = this.#line.length === 0 ? rest : this.#line.take() + rest;
    if (line === '') return this.#endEvent();
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    if (field !== 'data' && field !== 'event') return;
    const isBlankAfter = line.charCodeAt(colon + 1) === 32;
    const value = colon === -1 ? '' : line.slice(colon + (isBlankAfter ? 2 : 1));
    if (field === 'event') {
      this.#name = value;
      return;
    }
    this.#bound(value.length);
    this.#dataLines += 1;
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  #endEvent(): void {
    const name = this.#name;
    const data = this.#data;
    this.#name = undefined;
    this.#data = undefined;
    this.#dataLines = 0;
    if (data !== undefined) this.#take(name === '' ? undefined : name, data);
  }

  #bound(more: number): void {
    if (more + (this.#data?.length ?? 0) + this.#dataLines * LINE_OVERHEAD <= MAX_EVENT) return;
    throw new UpstreamFailure('upstream_invalid', `an event of more than ${MAX_EVENT} characters`);
  }
}
