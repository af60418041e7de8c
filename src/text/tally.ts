/**
 * The usage of an answer so far, updated while it passes: the usage that its source reports, or, until then, a count of
 * the content. A report that no request with these bounds can have used is not believed: the count takes its place. An
 * answer may take several turns of the model (tools/image-turns.ts), whose usages are added.
 */
import { plausibleUsage } from './money/price.ts';
import type { TokenUsage } from './source.ts';
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

/** The most that a call can use. */
export interface UsageBounds {
  readonly inputTokens: number;
  /** Of all choices together. */
  readonly outputTokens: number;
}

/**
 * How many times its bound a report may be: a server may add its own prompt, or exceed the cap by what it does not count
 * as the answer. What it costs beyond the hold is the operator's (money/move.ts).
 */
const MOST_OF_BOUND = 2;

export class Tally {
  /** The upstream that answers, by its name in logs; set when the answer begins. */
  answeredBy: string | undefined;
  /** The upstream that failed last, by its name in logs. */
  failedAt: string | undefined;
  /** Requests at upstreams that may have billed them, although their answers did not begin here. */
  unanswered = 0;
  /** Requests that upstreams answered with a fault of their own, other than 503: few bill them. */
  failed = 0;
  /** Set when an answer begins. No upstream bills an answer of ours. */
  openedAt: 'ours' | 'upstream' | undefined;
  #inputTokens: number;
  #reported: TokenUsage | undefined;
  #counters = { output: new Counter(), reasoning: new Counter() };
  #earlier: BilledUsage | undefined;
  readonly #most: UsageBounds | undefined;

  /** @param inputTokens the counted input of the request. @param most absent: every report is believed. */
  constructor(inputTokens: number, most?: UsageBounds) {
    this.#inputTokens = inputTokens;
    this.#most = most;
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

  /**
   * How many requests an upstream may bill that no client pays.
   *
   * @param isPaid whether the account pays for the call.
   */
  lostRequests(isPaid: boolean): number {
    // A client that disconnects pays for the request that it ended.
    if (isPaid) return Math.max(0, this.unanswered - (this.openedAt === undefined ? 1 : 0));
    return this.unanswered + (this.openedAt === 'upstream' ? 1 : 0);
  }

  /** Whether the source has reported its count. */
  get isReported(): boolean {
    return this.#reported !== undefined;
  }

  /** What the source reported for the current turn, if it is not believed. */
  get wrongReport(): TokenUsage | undefined {
    const reported = this.#reported;
    return reported === undefined || this.#believed(reported) === reported ? undefined : reported;
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
    const reported = this.#reported;
    if (reported === undefined) return { inputTokens: this.#inputTokens, ...this.#countedOutput(), ...ESTIMATED };
    const believed = this.#believed(reported);
    return believed === reported ? { ...reported, isEstimated: false } : { ...believed, ...ESTIMATED };
  }

  /** @returns the same report, or one with our own count in place of what is not believed. */
  #believed(reported: TokenUsage): Pick<TokenUsage, 'inputTokens' | 'outputTokens' | 'reasoningTokens'> {
    if (this.#most === undefined) return reported;
    const { inputTokens, outputTokens, reasoningTokens } = reported;
    const isInput = inputTokens <= this.#most.inputTokens * MOST_OF_BOUND;
    const isOutput = outputTokens <= this.#most.outputTokens * MOST_OF_BOUND;
    if (isInput && isOutput) return reported;
    const counted = this.#countedOutput();
    // What was streamed shows that the source does not observe the cap.
    const isStreamed = outputTokens <= counted.outputTokens * MOST_OF_BOUND;
    if (isInput && isStreamed) return reported;
    return {
      inputTokens: isInput ? inputTokens : this.#inputTokens,
      ...(isOutput || isStreamed ? { outputTokens, reasoningTokens } : counted),
    };
  }

  #countedOutput(): Pick<TokenUsage, 'outputTokens' | 'reasoningTokens'> {
    const reasoningTokens = this.#counters.reasoning.total();
    return { outputTokens: reasoningTokens + this.#counters.output.total(), reasoningTokens };
  }
}

/** What is counted here, or a report of which a part is. */
const ESTIMATED = { cachedInputTokens: 0, isEstimated: true } as const;

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
