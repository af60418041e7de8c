/**
 * A chat stream of an upstream as the one stream of events, for clients of another interface. An event is created for
 * content; a piece without content, like the first that only names the role, creates none.
 */
import type { TextEvent, TokenUsage } from '../source.ts';
import { ChatStream } from './chat-stream.ts';
import type { ChoiceProgress, CallPiece } from './chat-stream.ts';
import type { StreamReader } from './event-stream.ts';
import { readLogprobs } from './read-answer.ts';
import type { ChoicePart } from './read-answer.ts';
import { brokenOff, invalidAnswer } from './upstream-failure.ts';

type Emit = (event: TextEvent) => void;

export class ChatEvents implements StreamReader<TextEvent> {
  readonly #stream: ChatStream;
  /** Arguments that calls received before their name was known, by choice and call. */
  readonly #early = new Map<string, string>();
  #usage: TokenUsage | undefined;
  #isOver = false;

  /** @param choices how many were requested. */
  constructor(choices: number) {
    this.#stream = new ChatStream(choices);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  read(name: string | undefined, data: string, emit: Emit): void {
    if (this.#isOver) return;
    const chunk = this.#stream.read(name, data);
    if (chunk === 'done') return this.#finish(emit);
    if (chunk === undefined) return;
    this.#usage = chunk.usage ?? this.#usage;
    for (const part of chunk.parts) this.#part(part, emit);
  }

  end(emit: Emit): void {
    if (this.#isOver) return;
    if (!this.#stream.isComplete) throw brokenOff('a stream that broke off');
    this.#finish(emit);
  }

  #part(part: ChoicePart, emit: Emit): void {
    const progress = this.#stream.choice(part.index);
    // After its end a choice has no more content (source.ts).
    if (progress.isFinished) return;
    const { index: choice } = part;
    if (part.reasoning !== '') emit({ type: 'reasoning', choice, text: part.reasoning });
    const logprobs = readLogprobs(part.logprobs);
    if (part.text !== '' || (logprobs?.length ?? 0) > 0) {
      emit({ type: 'text', choice, text: part.text, ...(logprobs === undefined ? {} : { logprobs }) });
    }
    if (part.refusal !== '') emit({ type: 'refusal', choice, text: part.refusal });
    for (const delta of part.toolCalls) this.#call(choice, progress.calls.assign(delta), emit);
    if (part.finish === undefined) return;
    // Some servers end with `stop` even after calls.
    const isCalling = progress.calls.count > 0 && part.finish === 'stop';
    this.#end(choice, progress, isCalling ? 'tool_calls' : part.finish, emit);
  }

  #call(choice: number, { index, id, isFirst, name, text }: CallPiece, emit: Emit): void {
    const key = `${choice}:${index}`;
    const early = isFirst ? '' : this.#early.get(key);
    if (early !== undefined && name === undefined) {
      this.#early.set(key, early + text);
      return;
    }
    if (name !== undefined) {
      this.#early.delete(key);
      emit({ type: 'tool_call', choice, index, id, name });
    }
    const all = `${early ?? ''}${text}`;
    if (all !== '') emit({ type: 'tool_arguments', choice, index, text: all });
  }

  #end(
    choice: number,
    progress: ChoiceProgress,
    reason: 'stop' | 'length' | 'tool_calls' | 'content_filter',
    emit: Emit,
  ): void {
    if (!progress.calls.areNamed) throw invalidAnswer('a tool call without a name');
    progress.isFinished = true;
    emit({ type: 'finish', choice, reason });
  }

  #finish(emit: Emit): void {
    for (const [choice, progress] of this.#stream.unfinished()) {
      this.#end(choice, progress, progress.calls.count > 0 ? 'tool_calls' : 'stop', emit);
    }
    this.#isOver = true;
    if (this.#usage !== undefined) emit({ type: 'usage', usage: this.#usage });
  }
}
