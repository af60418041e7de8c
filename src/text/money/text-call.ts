/** A text call in the ledger: its terms, and its outcome. */
import type { BilledUsage } from '../tally.ts';

/** Everything that is decided about a call before it begins. */
export interface NewTextCall {
  /** `chatcmpl-…` or `resp_…`: identifies it permanently, in the ledger too. */
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  /** The held amount: the worst-case cost. */
  readonly heldMicroUsd: bigint;
  /** What is captured if this process dies before the call is settled; at most what is held. */
  readonly floorMicroUsd: bigint;
  /** The counted input. */
  readonly inputTokens: number;
  /** Whether its output is stored as a response. */
  readonly isStored: boolean;
  /** The caps that the key's spending counts against; none for most keys. */
  readonly spendCapIds: readonly string[];
  /**
   * The call is one in the background (src/text/background/): its hold is not this process's, and stays if the process
   * dies or does not learn whether it was made.
   */
  readonly isBackground?: boolean;
}

/** How a call ended. */
export interface TextSettlement {
  readonly id: string;
  readonly accountId: string;
  /**
   * The amount due. Of an amount above the hold, only the hold is captured; what a report has beyond it is recorded as
   * an operator cost, `hold_exceeded`. The rest of a hold is released.
   */
  readonly capturedMicroUsd: bigint;
  readonly usage: BilledUsage;
  /**
   * The upstream that answered, by its name in logs: the operator cost is recorded for it if the hold is exceeded.
   * Undefined: not known.
   */
  readonly upstream?: string | undefined;
}

/** The settlement of a call whose outcome is unknown: its counted input, no output, marked as estimated. */
export function estimatedSettlement(
  { id, accountId, inputTokens }: Pick<NewTextCall, 'id' | 'accountId' | 'inputTokens'>,
  capturedMicroUsd: bigint,
): TextSettlement {
  const usage = { inputTokens, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0, isEstimated: true };
  return { id, accountId, capturedMicroUsd, usage };
}
