/**
 * What an answer has cost so far, kept beside it while it passes: the usage that its source reports, or, until there is
 * such a thing, what can be counted of what was said.
 */
import type { TokenUsage } from './events.ts';
import { countTextTokens } from './tokens.ts';

/** What is billed. */
export interface BilledUsage extends TokenUsage {
  /** Counted here, and not reported by whoever answered. */
  readonly isEstimated: boolean;
}

/** Texts are counted together once there is this much: a token reaches over the pieces that a stream brings. */
const COUNTED_TOGETHER = 16 * 1024;

export class Tally {
  readonly #inputTokens: number;
  #reported: TokenUsage | undefined;
  readonly #said = { output: new Counter(), reasoning: new Counter() };

  /** @param inputTokens what the request was counted to bring. */
  constructor(inputTokens: number) {
    this.#inputTokens = inputTokens;
  }

  /** A piece of the answer: text, a refusal, a call's name or arguments. */
  said(text: string): void {
    this.#said.output.add(text);
  }

  /** A piece of what was thought. */
  thought(text: string): void {
    this.#said.reasoning.add(text);
  }

  /** The source tells its own count; the last one counts. */
  report(usage: TokenUsage): void {
    this.#reported = usage;
  }

  /** Whether the source has told its count. */
  get isReported(): boolean {
    return this.#reported !== undefined;
  }

  /** As things stand. */
  usage(): BilledUsage {
    if (this.#reported !== undefined) return { ...this.#reported, isEstimated: false };
    const reasoningTokens = this.#said.reasoning.total();
    return {
      inputTokens: this.#inputTokens,
      cachedInputTokens: 0,
      outputTokens: reasoningTokens + this.#said.output.total(),
      reasoningTokens,
      isEstimated: true,
    };
  }
}

class Counter {
  #counted = 0;
  #pieces: string[] = [];
  #characters = 0;

  add(text: string): void {
    this.#pieces.push(text);
    this.#characters += text.length;
    if (this.#characters >= COUNTED_TOGETHER) this.#count();
  }

  total(): number {
    this.#count();
    return this.#counted;
  }

  #count(): void {
    if (this.#characters > 0) this.#counted += countTextTokens(this.#pieces.join(''));
    this.#pieces = [];
    this.#characters = 0;
  }
}
