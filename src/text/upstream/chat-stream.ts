/** The progress of an upstream's chat stream: which choices there are, what they call, and which are finished. */
import { isRecord } from '../../domain/json.ts';
import { randomBytes } from 'node:crypto';
import { assertNoError, readChatPiece } from './read-answer.ts';
import type { ChatPiece, Members } from './read-answer.ts';
import { invalidAnswer } from './upstream-failure.ts';

export interface ChoiceProgress {
  readonly calls: ToolCalls;
  isFinished: boolean;
}

/** One chunk, and the text that it was read from. */
export interface Chunk extends ChatPiece {
  readonly json: Readonly<Record<string, unknown>>;
}

export class ChatStream {
  readonly #wantedChoices: number;
  readonly #choices = new Map<number, ChoiceProgress>();

  constructor(wantedChoices: number) {
    this.#wantedChoices = wantedChoices;
  }

  /**
   * @returns `done` for `[DONE]`; undefined if the event has no content, like one that only prevents an idle timeout.
   * @throws {UpstreamFailure} `upstream_invalid`.
   */
  read(name: string | undefined, data: string): Chunk | 'done' | undefined {
    if (data.length <= 8 && data.trim() === '[DONE]') return 'done';
    const json = parse(data);
    if (!isRecord(json)) throw invalidAnswer('an event that is no object');
    if (name !== undefined && name !== 'message') {
      if (name === 'error') assertNoError(json['error'] ?? json);
      if (json['choices'] == null) return undefined;
    }
    return { ...readChatPiece(json, 'delta'), json };
  }

  choice(index: number): ChoiceProgress {
    let choice = this.#choices.get(index);
    if (choice === undefined) this.#choices.set(index, (choice = { calls: new ToolCalls(), isFinished: false }));
    return choice;
  }

  /** Whether every requested choice has ended. */
  get isComplete(): boolean {
    if (this.#choices.size < this.#wantedChoices) return false;
    for (const { isFinished } of this.#choices.values()) if (!isFinished) return false;
    return true;
  }

  /**
   * The choices that a stream has left open although it reports its end.
   *
   * @throws {UpstreamFailure} `upstream_invalid`: it has no content.
   */
  unfinished(): readonly (readonly [number, ChoiceProgress])[] {
    if (this.#choices.size === 0) throw invalidAnswer('a stream without an answer');
    return [...this.#choices].filter(([, { isFinished }]) => !isFinished);
  }
}

/** @throws {UpstreamFailure} `upstream_invalid`. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalidAnswer('an event that is no JSON');
  }
}

/** A piece of a call, put in order. */
export interface CallPiece {
  /** Counts the calls of the choice from 0, in the order in which they began. */
  readonly index: number;
  /** The first piece of its call: it carries the id. */
  readonly isFirst: boolean;
  readonly id: string;
  /** The call's name, if it has just become known. */
  readonly name: string | undefined;
  readonly text: string;
}

interface KnownCall {
  readonly index: number;
  /** The upstream's number, if it gives one. */
  readonly wireIndex: number | undefined;
  /** The upstream's id, if it gives one. */
  wireId: string | undefined;
  readonly id: string;
  name: string | undefined;
}

/**
 * Assigns the pieces of a stream to the tool calls of a choice. OpenAI numbers them and names each once; others omit
 * the number, give all of them the same one, omit the id, or repeat id and name in every piece.
 */
export class ToolCalls {
  readonly #calls: KnownCall[] = [];

  get count(): number {
    return this.#calls.length;
  }

  /** Whether each call has a name. */
  get areNamed(): boolean {
    return this.#calls.every(({ name }) => name !== undefined);
  }

  /** @param delta one member of `tool_calls`. @throws {UpstreamFailure} `upstream_invalid`. */
  assign(delta: Members): CallPiece {
    const { name, text } = functionOf(delta);
    const wireId = wordOf(delta['id'], 'id');
    const wireIndex = indexOf(delta['index']);
    const known = this.#find({ wireId, wireIndex, name });
    if (known === undefined) {
      const id = wireId ?? `call_${randomBytes(12).toString('hex')}`;
      const call: KnownCall = { index: this.#calls.length, wireIndex, wireId, id, name };
      this.#calls.push(call);
      return { index: call.index, isFirst: true, id, name, text };
    }
    known.wireId ??= wireId;
    const isNamedNow = known.name === undefined && name !== undefined;
    known.name ??= name;
    return { index: known.index, isFirst: false, id: known.id, name: isNamedNow ? name : undefined, text };
  }

  #find(piece: {
    readonly wireId: string | undefined;
    readonly wireIndex: number | undefined;
    readonly name: string | undefined;
  }): KnownCall | undefined {
    const { wireId, wireIndex, name } = piece;
    if (wireId !== undefined) {
      const sameId = this.#calls.find((call) => call.wireId === wireId);
      if (sameId !== undefined) return sameId;
    }
    if (wireIndex !== undefined) {
      const sameNumber = this.#calls.findLast((call) => call.wireIndex === wireIndex);
      // Some servers number all of them 0: another id is another call.
      const isAnother = sameNumber?.wireId !== undefined && wireId !== undefined;
      return isAnother ? undefined : sameNumber;
    }
    // Without id and number it continues the last one, unless it has a name and the last one has its own.
    const last = this.#calls.at(-1);
    if (wireId !== undefined && last?.wireId !== undefined) return undefined;
    return name !== undefined && last?.name !== undefined ? undefined : last;
  }
}

function functionOf(delta: Members): { readonly name: string | undefined; readonly text: string } {
  const called = delta['function'] ?? {};
  if (!isRecord(called)) throw invalidAnswer('a tool call whose function is no object');
  const value = called['arguments'] ?? '';
  // Some servers decode what the model wrote.
  const text = isRecord(value) ? JSON.stringify(value) : value;
  if (typeof text !== 'string') throw invalidAnswer('a tool call whose arguments are no text');
  return { name: wordOf(called['name'], 'name'), text };
}

function wordOf(value: unknown, what: string): string | undefined {
  if (value == null || value === '') return undefined;
  if (typeof value !== 'string') throw invalidAnswer(`a tool call whose ${what} is no text`);
  return value;
}

function indexOf(value: unknown): number | undefined {
  if (value == null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw invalidAnswer('a tool call whose index is no number');
  return value;
}
