/**
 * The usage of an answer so far, updated while it passes: the usage that its source reports, or, until then, a count of
 * the content. An answer may take several turns of the model (tools/image-turns.ts), whose usages are added.
 */
import type { TokenUsage } from './events.ts';
import { plausibleUsage } from './money/price.ts';
import { countTextTokens } from './tokens.ts';

/** What is billed. */
export interface BilledUsage extends TokenUsage {
  /** Counted here, and not reported by the source. */
  readonly isEstimated: boolean;
}

/** The number of characters from which pieces of a stream are counted together: a token can span several pieces. */
const COUNTED_TOGETHER = 16 * 1024;

/** Longer answers are estimated from this much of them: counting takes up to 4 µs a character, on the event loop. */
const MAX_COUNTED = 256 * 1024;

export class Tally {
  /** The upstream that answers, by its name in logs; set when the answer begins. */
  answeredBy: string | undefined;
  #inputTokens: number;
  #reported: TokenUsage | undefined;
  #counters = { output: new Counter(), reasoning: new Counter() };
  #earlier: BilledUsage | undefined;

  /** @param inputTokens the counted input of the request. */
  constructor(inputTokens: number) {
    this.#inputTokens = inputTokens;
  }

  /** A piece of the answer: text, a refusal, a call's name or arguments. */
  addOutput(text: string): void {
    this.#counters.output.add(text);
  }

  /** A piece of the reasoning. */
  addReasoning(text: string): void {
    this.#counters.reasoning.add(text);
  }

  /** The source reports its own count; the last one counts. */
  report(usage: TokenUsage): void {
    this.#reported = usage;
  }

  /** Whether the source has reported its count. */
  get isReported(): boolean {
    return this.#reported !== undefined;
  }

  /** The counted input of the current turn. */
  get inputTokens(): number {
    return this.#inputTokens;
  }

  /** Whether the model has had several turns. */
  get hasEarlierTurns(): boolean {
    return this.#earlier !== undefined;
  }

  /** The next turn of the model begins. @param inputTokens its counted input. */
  nextTurn(inputTokens: number): void {
    this.#earlier = this.usage();
    this.#inputTokens = inputTokens;
    this.#reported = undefined;
    this.#counters = { output: new Counter(), reasoning: new Counter() };
  }

  /** The usage at this moment. */
  usage(): BilledUsage {
    const turn = this.#usageOfTurn();
    return this.#earlier === undefined ? turn : sumOf(this.#earlier, turn);
  }

  #usageOfTurn(): BilledUsage {
    if (this.#reported !== undefined) return { ...this.#reported, isEstimated: false };
    const reasoningTokens = this.#counters.reasoning.total();
    return {
      inputTokens: this.#inputTokens,
      cachedInputTokens: 0,
      outputTokens: reasoningTokens + this.#counters.output.total(),
      reasoningTokens,
      isEstimated: true,
    };
  }
}

/** A sum has been counted here if a part of it was. */
function sumOf(one: BilledUsage, other: BilledUsage): BilledUsage {
  const parts = [plausibleUsage(one), plausibleUsage(other)] as const;
  const sum = (member: keyof TokenUsage): number => parts[0][member] + parts[1][member];
  return {
    inputTokens: sum('inputTokens'),
    cachedInputTokens: sum('cachedInputTokens'),
    outputTokens: sum('outputTokens'),
    reasoningTokens: sum('reasoningTokens'),
    isEstimated: one.isEstimated || other.isEstimated,
  };
}

class Counter {
  #counted = 0;
  #countedCharacters = 0;
  /** Characters that are no longer counted. */
  #further = 0;
  #pieces: string[] = [];
  #characters = 0;

  add(text: string): void {
    this.#pieces.push(text);
    this.#characters += text.length;
    if (this.#characters >= COUNTED_TOGETHER) this.#count();
  }

  total(): number {
    this.#count();
    if (this.#further === 0) return this.#counted;
    return this.#counted + Math.ceil((this.#further * this.#counted) / this.#countedCharacters);
  }

  #count(): void {
    const text = this.#pieces.join('').slice(0, MAX_COUNTED - this.#countedCharacters);
    if (text !== '') this.#counted += countTextTokens(text);
    this.#countedCharacters += text.length;
    this.#further += this.#characters - text.length;
    this.#pieces = [];
    this.#characters = 0;
  }
}
