/** The progress of an upstream's chat stream: which choices there are, what they call, and which are finished. */
import { assertNoError, isObject, readChatPiece } from './chat-choice.ts';
import type { ChatPiece } from './chat-choice.ts';
import { ToolCalls } from './tool-calls.ts';
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
    if (!isObject(json)) throw invalidAnswer('an event that is no object');
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
