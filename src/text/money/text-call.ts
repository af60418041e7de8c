/** A text call in the ledger: its terms, and its outcome. */
import type { TextCallEnd } from '../../telemetry/metrics-work.ts';
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
  /** Whom the call is for (contract §9.2): a filter of usage and of operators' lists. */
  readonly endUser?: string | undefined;
  /**
   * The call is one in the background (src/text/background/): its hold is not this process's, and stays if the process
   * dies or does not know whether it was made, and it is made only in half of the account's concurrent calls.
   */
  readonly isBackground?: boolean;
}

/** The concurrent calls of an account, of which those in the background leave half to others. */
export const backgroundCap = {
  of: (cap: number): number => Math.min(cap, Math.max(1, Math.floor(cap / 2))),
  sql: (cap: string): string => `least(${cap}, greatest(1, ${cap} / 2))`,
} as const;

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
   * The upstream that answered, or was tried last, by its name in logs: the operator cost is recorded for it if the
   * hold is exceeded. Undefined: not known.
   */
  readonly upstream?: string | undefined;
  /** Undefined: not known. */
  readonly outcome?: TextCallEnd;
  /** Why it failed. */
  readonly errorReason?: string | undefined;
  /**
   * Requests that an upstream may bill beside what is captured: they were repeated, or their answers broke off. Recorded
   * as operator costs, `attempt_lost`, of at most the hold each. Absent: none.
   */
  readonly lostRequests?: number | undefined;
  /** Requests that upstreams answered with a fault of their own. They are lost too where the call is repeated. */
  readonly failedRequests?: number | undefined;
}

/** The settlement of a call whose outcome is unknown: its counted input, no output, marked as estimated. */
export function estimatedSettlement(
  { id, accountId, inputTokens }: Pick<NewTextCall, 'id' | 'accountId' | 'inputTokens'>,
  capturedMicroUsd: bigint,
): TextSettlement {
  const usage = { inputTokens, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0, isEstimated: true };
  return { id, accountId, capturedMicroUsd, usage };
}
